//===- Header.cpp - C++ headers of bundles --------------------------------===//
//
// The signatures of the manifest become methods of one class `Module`, each in two forms: with
// allocated results, and with results in the caller's memory. Specialisations that differ only in
// sizes or target are one method; the runtime selects among them.
//
//===----------------------------------------------------------------------===//
#include "Manifest.h"
#include "Names.h"
#include "tessera/Bundle/Bundle.h"
#include "tessera/Support/DType.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <map>

using namespace tessera;
using llvm::StringRef;
using llvm::json::Array;
using llvm::json::Object;

namespace {

/// An argument or a result.
struct Item {
  std::string name; // a valid C++ name
  std::string type; // the element type, or the scalar type
  std::string text; // "fp32[M, 64]", "float"
  bool isTensor = false;
  size_t rank = 0;
};

struct Signature {
  std::string function; // in the bundle
  std::string method;
  std::vector<Item> arguments, results;
  bool returnsTuple = false;
  std::vector<std::string>
      forms; // "softmax(x: fp32[M, 64]) -> fp32[M, 64]", one per specialisation

  /// The types that distinguish overloads.
  std::string key() const {
    std::string text = function;
    for (const auto *items : {&arguments, &results}) {
      for (const Item &item : *items)
        text += "," + item.type + (item.isTensor ? std::to_string(item.rank) : "");
      text += ">";
    }
    return text;
  }
};

} // namespace

static bool readTensor(const Object &entry, Item &item) {
  std::optional<StringRef> dtype = entry.getString("dtype");
  const Array *sizes = entry.getArray("sizes");
  std::optional<DType> known = rt::dtypeByName(dtype.value_or(""));
  if (!sizes || !known)
    return false;
  item.isTensor = true;
  item.rank = sizes->size();
  item.type = dtypeInfo(*known).cpp;
  for (const llvm::json::Value &size : *sizes)
    item.text += (item.text.empty() ? "" : ", ") + size.getAsString().value_or("?").str();
  item.text = dtype->str() + "[" + item.text + "]";
  return true;
}

static bool readArgument(const Object &entry, Item &item) {
  item.name = identifier(entry.getString("name").value_or(""));
  std::optional<StringRef> kind = entry.getString("kind");
  if (!kind)
    return readTensor(entry, item);
  item.text = kind->str();
  item.type = *kind == "int" ? "int64_t" : *kind == "float" ? "double" : "bool";
  return true;
}

static bool readSignature(const Object &entry, Signature &signature) {
  const Array *arguments = entry.getArray("arguments"), *results = entry.getArray("results");
  if (!arguments || !results)
    return false;
  signature.function = entry.getString("function").value_or("").str();
  signature.method = identifier(signature.function);
  std::string form;
  for (const llvm::json::Value &value : *arguments) {
    Item item;
    if (!value.getAsObject() || !readArgument(*value.getAsObject(), item))
      return false;
    form += (form.empty() ? "" : ", ") + item.name + ": " + item.text;
    signature.arguments.push_back(std::move(item));
  }
  form = signature.function + "(" + form + ") ->";
  for (const llvm::json::Value &value : *results) {
    Item item;
    if (!value.getAsObject() || !readTensor(*value.getAsObject(), item))
      return false;
    item.name =
        results->size() == 1 ? "result" : "result" + std::to_string(signature.results.size());
    while (llvm::any_of(signature.arguments,
                        [&](const Item &argument) { return argument.name == item.name; }))
      item.name += "_";
    form += (form.back() == '>' ? " " : ", ") + item.text;
    signature.results.push_back(std::move(item));
  }
  signature.forms.push_back(std::move(form));
  return true;
}

namespace {

class HeaderWriter {
public:
  HeaderWriter(std::string name, const std::vector<Signature> &signatures)
      : name(std::move(name)), signatures(signatures), os(text) {}

  std::string write() {
    std::string guard = "TESSERA_BUNDLE_" + StringRef(name).upper() + "_H";
    os << "// The functions of a bundle, written by `tessera build --header`.\n"
       << "#ifndef " << guard << "\n#define " << guard << "\n\n"
       << "#include <tessera/Runtime.h>\n\n"
       << "namespace " << name << " {\n\n"
       << "/// The bundle, loaded for one device: its functions are the methods.\n"
       << "class Module {\npublic:\n"
       << "  explicit Module(const std::string &file, tessera::Device device = {})\n"
       << "      : bundle_(file, device) {}\n"
       << "  Module(const void *bytes, size_t length, tessera::Device device = {})\n"
       << "      : bundle_(bytes, length, device) {}\n\n"
       << "  tessera::Device device() const { return bundle_.device(); }\n";
    for (size_t i = 0; i < signatures.size(); ++i) {
      writeMethod(signatures[i], i, /*given=*/false);
      if (!signatures[i].results.empty())
        writeMethod(signatures[i], i, /*given=*/true);
    }
    os << "\nprivate:\n  tessera::Module bundle_;\n";
    for (size_t i = 0; i < signatures.size(); ++i)
      writeMember(signatures[i], i);
    os << "};\n\n} // namespace " << name << "\n\n#endif // " << guard << "\n";
    return text;
  }

private:
  void writeMethod(const Signature &signature, size_t number, bool given) {
    os << "\n";
    for (const std::string &form : signature.forms)
      os << "  /// " << form << "\n";
    std::vector<std::string> parameters;
    std::string names = "stream";
    for (const Item &item : signature.arguments) {
      parameters.push_back(viewType(item, "const ") + " " + item.name);
      names += ", " + item.name;
    }
    if (given)
      for (const Item &item : signature.results) {
        parameters.push_back(viewType(item, "") + " " + item.name);
        names += ", " + item.name;
      }
    parameters.push_back("tessera::Stream stream = {}");
    writeWrapped("  " + (given ? "void" : returnType(signature)) + " " + signature.method + "(",
                 parameters, ") const {");
    os << "    " << (given ? "" : "return ") << member(signature, number)
       << (given ? ".into(" : "(") << names << ");\n  }\n";
  }

  /// A list in lines of at most 100 columns.
  void writeWrapped(const std::string &head, const std::vector<std::string> &items,
                    StringRef tail) {
    constexpr size_t columns = 100;
    std::string line = head;
    bool first = true;
    for (const std::string &item : items) {
      bool last = &item == &items.back();
      size_t needed = line.size() + item.size() + (first ? 0 : 1) + (last ? tail.size() : 1);
      if (needed > columns) {
        os << line << "\n";
        line = "      " + item;
      } else
        line += (first ? "" : " ") + item;
      line += last ? "" : ",";
      first = false;
    }
    os << line << tail << "\n";
  }

  static std::string viewType(const Item &item, const std::string &qualifier) {
    if (!item.isTensor)
      return item.type;
    return "tessera::View<" + qualifier + item.type + ", " + std::to_string(item.rank) + ">";
  }

  static std::string returnType(const Signature &signature) {
    std::string types;
    for (const Item &item : signature.results)
      types += (types.empty() ? "" : ", ") + ("tessera::Tensor<" + item.type) + ", " +
               std::to_string(item.rank) + ">";
    bool single = !signature.returnsTuple && signature.results.size() == 1;
    return single ? types : "std::tuple<" + types + ">";
  }

  static std::string member(const Signature &signature, size_t number) {
    return signature.method + "_" + std::to_string(number) + "_";
  }

  void writeMember(const Signature &signature, size_t number) {
    std::vector<std::string> types;
    for (const Item &item : signature.arguments)
      types.push_back(viewType(item, "const "));
    writeWrapped("  tessera::Function<" + returnType(signature) + "(", types, ")>");
    os << "      " << member(signature, number) << "{bundle_, \"" << signature.function << "\"};\n";
  }

  std::string name;
  const std::vector<Signature> &signatures;
  std::string text;
  llvm::raw_string_ostream os;
};

} // namespace

std::optional<std::string> tessera::makeHeader(const std::string &manifest, const std::string &name,
                                               std::string &error) {
  std::optional<Object> root = parseManifest(manifest, error);
  if (!root)
    return std::nullopt;
  const Array *entries = root->getArray("signatures");
  if (!entries) {
    error = "the bundle's manifest has no signatures";
    return std::nullopt;
  }
  const Array *tuples = root->getArray("tuples");
  std::vector<Signature> signatures;
  for (const llvm::json::Value &value : *entries) {
    Signature signature;
    if (!value.getAsObject() || !readSignature(*value.getAsObject(), signature)) {
      error = "the bundle's manifest has a signature that cannot be read";
      return std::nullopt;
    }
    signature.returnsTuple =
        tuples && llvm::is_contained(*tuples, llvm::json::Value(signature.function));
    auto known = llvm::find_if(
        signatures, [&](const Signature &other) { return other.key() == signature.key(); });
    if (known == signatures.end())
      signatures.push_back(std::move(signature));
    else if (!llvm::is_contained(known->forms, signature.forms.front()))
      known->forms.push_back(signature.forms.front());
  }
  return HeaderWriter(identifier(name), signatures).write();
}
