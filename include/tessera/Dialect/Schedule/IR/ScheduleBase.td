//===- ScheduleBase.td - The Schedule IR dialect and its types -*- tablegen -*-===//
#ifndef TESSERA_DIALECT_SCHEDULE_IR_SCHEDULEBASE
#define TESSERA_DIALECT_SCHEDULE_IR_SCHEDULEBASE

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "tessera/Dialect/Common/LaunchAttrs.td"
include "tessera/Dialect/Graph/IR/GraphBase.td"

def Schedule_Dialect : Dialect {
  let name = "sched";
  let cppNamespace = "::tessera::sched";
  let summary = "the partition into kernels, and every decision in it";
  let description = [{
    A function is a sequence of `sched.kernel`s on graph tensors. Inside a kernel, iteration
    dimensions have names, and a value is a function of some of them: `!sched.val<[i, n], f32>`.
    Operations combine values over the union of their dimensions, so there is no broadcasting, no
    transposing and no reshaping; the layout of a tensor appears only in the index expressions of
    `sched.load` and `sched.store`.

    A dimension is `parallel` (tiled over the grid), `stream` (a loop over blocks by a
    `sched.stream`) or `inner` (reduced inside a block). Its `tile` is the block size. The text
    contains every scheduling decision of the compiler, and it can be edited and compiled.
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let dependentDialects = ["::tessera::gir::GraphDialect"];
}

def Schedule_ValType : TypeDef<Schedule_Dialect, "Val"> {
  let mnemonic = "val";
  let summary = "a scalar for every point of some iteration dimensions";
  let description = [{
    `!sched.val<[i, n], f32>`: dimensions of the kernel in the order of their declaration, then the
    element type; `!sched.val<[], f32>` is one number.
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::StringAttr">:$dims,
                        "::mlir::Type":$elementType);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    bool hasDim(::llvm::StringRef name) const;
  }];
}

def Schedule_DimAttr : AttrDef<Schedule_Dialect, "Dim"> {
  let mnemonic = "dim";
  let summary = "an iteration dimension: name, size, role and tile size";
  let description = [{
    `#sched.dim<parallel i = S tile 64>`; the role is parallel, stream or inner. The size is an
    integer, a plain name, or any other size expression in quotes: `#sched.dim<inner k = "2*D" tile
    32>`.
  }];
  let parameters = (ins "::mlir::StringAttr":$name, "::tessera::SymExpr":$size,
                        "::mlir::StringAttr":$role, "int64_t":$tile);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    bool isParallel() const { return getRole() == kParallel; }
    bool isStream() const { return getRole() == kStream; }
    bool isInner() const { return getRole() == kInner; }
    /// `parallel i = S tile 64`, as in a kernel's list of dimensions.
    static DimAttr parseBody(::mlir::AsmParser &parser);
    void printBody(::mlir::AsmPrinter &printer) const;
  }];
}

def Schedule_LaunchAttr : Common_LaunchAttr<Schedule_Dialect>;
def Schedule_TuningAttr : Common_TuningAttr<Schedule_Dialect>;

#endif
