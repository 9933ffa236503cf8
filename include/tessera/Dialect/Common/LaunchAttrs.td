//===- LaunchAttrs.td - Launch configuration and tuning ------*- tablegen -*-===//
//
// The attributes `launch` and `tuning` of a dialect's kernels, and the accessors of the kernels. LaunchAttrs.h has the
// implementation, LaunchFields.def the fields.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_DIALECT_COMMON_LAUNCHATTRS
#define TESSERA_DIALECT_COMMON_LAUNCHATTRS

include "mlir/IR/AttrTypeBase.td"

class Common_ConfigAttr<Dialect dialect, string cppName, string word, string config> : AttrDef<dialect, cppName> {
  let mnemonic = word;
  let parameters = (ins config:$value);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = "using Config = " # config # ";";
  let extraClassDefinition = [{
    ::mlir::Attribute $cppClass::parse(::mlir::AsmParser &parser, ::mlir::Type) {
      return ::tessera::parseConfigAttr<$cppClass>(parser);
    }
    void $cppClass::print(::mlir::AsmPrinter &printer) const { ::tessera::printConfig(printer, getValue()); }
    ::llvm::LogicalResult $cppClass::verify(::llvm::function_ref<::mlir::InFlightDiagnostic()> emitError, Config value) {
      return ::tessera::verifyConfig(emitError, value);
    }
  }];
}

class Common_LaunchAttr<Dialect dialect> : Common_ConfigAttr<dialect, "Launch", "launch", "::tessera::LaunchConfig"> {
  let summary = "the launch configuration of a kernel, which is part of its meaning";
  let description = "`#" # dialect.name # ".launch<num_warps = 8, cluster_size = 2, cluster_axis = 1>`" # [{. A placed
    kernel is written for this many warps and CTAs, and its launch has this form. Fields that are not given have their
    default (4 warps, no clusters, a CTA per tile). [GPUs](schedules.md#what-is-chosen) lists the fields. `cluster_axis`
    needs `cluster_size`, and a kernel has `persistent_ctas` or `tiles_per_cta`, not both.
  }];
}

class Common_TuningAttr<Dialect dialect> : Common_ConfigAttr<dialect, "Tuning", "tuning", "::tessera::TuningConfig"> {
  let summary = "the tuning of a kernel, which never changes its result";
  let description = "`#" # dialect.name # ".tuning<num_stages = 4, use_tma = 1>`" # [{. A pass or a backend uses the
    fields that apply to its target, and chooses where one is not given. [GPUs](schedules.md#what-is-chosen) lists the
    fields.
  }];
}

/// What kernels with the attributes `launch` and `tuning` declare and define. `changed` names the discardable attribute
/// that lists the values of earlier phases that were overwritten.
class Common_KernelConfig<string changed> {
  string declaration = [{
    /// A list of texts: the fields of earlier phases that were overwritten.
    static constexpr ::llvm::StringLiteral kChangedAttr = "}] # changed # [{";
    /// The attributes' values; empty without an attribute.
    ::tessera::LaunchConfig getLaunchConfig();
    ::tessera::TuningConfig getTuningConfig();
    /// A field, where it is given.
    std::optional<int64_t> getField(::tessera::LaunchField field) { return getLaunchConfig().get(field); }
    std::optional<int64_t> getField(::tessera::TuningField field) { return getTuningConfig().get(field); }
    bool isOn(::tessera::TuningField field) { return getField(field).value_or(0) != 0; }
    /// The warps of a CTA and the CTAs of a cluster, given or by default.
    int64_t getNumWarps() {
      return getField(::tessera::LaunchField::NumWarps).value_or(::tessera::kDefaultNumWarps);
    }
    int64_t getClusterSize() {
      return getField(::tessera::LaunchField::ClusterSize).value_or(::tessera::kDefaultClusterSize);
    }
    /// Sets the configuration. What an earlier phase chose and this overwrites is listed in kChangedAttr with the
    /// reason; a field that was not given is not. Passes change a configuration by these functions alone.
    void changeConfig(const ::tessera::LaunchConfig &config, ::llvm::StringRef reason);
    void changeConfig(const ::tessera::TuningConfig &config, ::llvm::StringRef reason);
    /// Lists that a part of the kernel has another value than a field says, which stays.
    void noteUse(::tessera::TuningField field, int64_t used, ::llvm::StringRef reason);
  }];
  string definition = [{
    ::tessera::LaunchConfig $cppClass::getLaunchConfig() {
      return getLaunchAttr() ? getLaunchAttr().getValue() : ::tessera::LaunchConfig();
    }
    ::tessera::TuningConfig $cppClass::getTuningConfig() {
      return getTuningAttr() ? getTuningAttr().getValue() : ::tessera::TuningConfig();
    }
    void $cppClass::changeConfig(const ::tessera::LaunchConfig &config, ::llvm::StringRef reason) {
      ::tessera::noteChanges(*this, kChangedAttr, getLaunchConfig(), config, reason);
      setLaunchAttr(config.empty() ? LaunchAttr() : LaunchAttr::get(getContext(), config));
    }
    void $cppClass::changeConfig(const ::tessera::TuningConfig &config, ::llvm::StringRef reason) {
      ::tessera::noteChanges(*this, kChangedAttr, getTuningConfig(), config, reason);
      setTuningAttr(config.empty() ? TuningAttr() : TuningAttr::get(getContext(), config));
    }
    void $cppClass::noteUse(::tessera::TuningField field, int64_t used, ::llvm::StringRef reason) {
      if (std::optional<int64_t> given = getField(field); given && *given != used)
        ::tessera::noteChange(*this, kChangedAttr, field, *given, used, reason);
    }
  }];
}

#endif
