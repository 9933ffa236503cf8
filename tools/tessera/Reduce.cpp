//===- Reduce.cpp - `tessera reduce` --------------------------------------===//
//
// Shrinks a program that fails, as long as it fails in the same way: with the same message, the
// same signal, or a wrong answer. Every candidate is compiled and run by a child process, which may
// crash or hang. Statements go first, in halves and ever smaller pieces; then expressions become
// parts of themselves, parameters and sizes shrink, and all of it is repeated until nothing can go.
//
//===----------------------------------------------------------------------===//
#include "Edits.h"
#include "Program.h"

#include <algorithm>
#include <cctype>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <sys/wait.h>
#include <unistd.h>

namespace tessera::cli {

namespace {

/// A text and the `--arg`s it is run with.
struct Candidate {
  std::string text;
  std::vector<std::string> arguments;
};

/// A folder for what is tried, gone at the end.
class Scratch {
public:
  explicit Scratch(const std::string &file) {
    char name[] = "/tmp/tessera-reduce-XXXXXX";
    if (const char *made = mkdtemp(name))
      folder = made;
    size_t slash = file.rfind('/');
    program = folder + "/" + (slash == file.npos ? file : file.substr(slash + 1));
    messages = folder + "/messages";
  }
  ~Scratch() {
    unlink(program.c_str());
    unlink(messages.c_str());
    rmdir(folder.c_str());
  }
  bool made() const { return !folder.empty(); }

  std::string folder, program, messages;
};

std::string contents(const std::string &path) {
  std::string text;
  if (FILE *stream = std::fopen(path.c_str(), "rb")) {
    char buffer[1 << 14];
    while (size_t count = std::fread(buffer, 1, sizeof buffer, stream))
      text.append(buffer, count);
    std::fclose(stream);
  }
  return text;
}

/// The line of a text from some words on, without what changes as a program shrinks: numbers, what
/// stands in brackets, and what is quoted unless it is a name.
std::string lineFrom(const std::string &text, size_t at) {
  std::string line;
  size_t end = std::min(text.find('\n', at), text.size());
  auto isWord = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  for (; at < end; ++at) {
    char c = text[at];
    size_t close = c == '[' ? text.find(']', at) : c == '\'' ? text.find('\'', at + 1) : at;
    if (close > at && close < end && !std::all_of(&text[at + 1], &text[close], isWord)) {
      at = close;
      continue;
    }
    if (!std::isdigit(static_cast<unsigned char>(c)))
      line += c;
  }
  return line;
}

class Reducer {
public:
  Reducer(const Options &options, const std::string &file, const std::string &function)
      : options(options), function(function), scratch(file), isIR(file.ends_with(".mlir")) {}

  int reduce(Candidate start) {
    if (!scratch.made())
      return usageError("cannot make a folder in /tmp");
    best = std::move(start);
    kind = outcome(best);
    if (kind.empty())
      return usageError(options.keep.empty()
                            ? "the program does not fail: there is nothing to keep"
                            : "the command of --while fails for the program itself");
    size_t lines = countLines(best.text);
    std::fprintf(stderr, "keeping: %s\n", kind.c_str());
    for (size_t before = ~size_t(0); before != improvements;) {
      before = improvements;
      isIR ? reduceIR() : reduceSource();
      reduceArguments();
    }
    std::fprintf(stderr, "%zu of %zu lines after %zu tries\n", countLines(best.text), lines, tries);
    std::fprintf(stderr, "%s\n", command().c_str());
    return writeOutput(options.output, best.text.data(), best.text.size()) ? Success : Usage;
  }

private:
  static size_t countLines(const std::string &text) {
    size_t count = 0;
    for (size_t at = 0; at < text.size(); ++count)
      at = std::min(text.find('\n', at), text.size() - 1) + 1;
    return count;
  }

  /// How to see the failure again.
  std::string command() const {
    std::string place = options.output.empty() || options.output == "-" ? "FILE" : options.output;
    std::string line = runs() ? "tessera run " : "tessera compile ";
    line += function.empty() ? place : place + "::" + function;
    for (const std::string &argument : best.arguments)
      line += " --arg " + argument;
    if (!options.target.empty())
      line += " --target " + options.target;
    for (const std::string &option : options.options)
      line += " --option " + option;
    if (runs())
      line += " --check --seed " + std::to_string(options.seed);
    return line;
  }

  /// Whether the function can be called here: not for another machine, not with sizes in letters.
  bool runs() const {
    for (const std::string &argument : best.arguments) {
      ArgumentSpec spec;
      std::string error;
      if (parseArgument(argument, spec, error) && spec.hasAnySize())
        return false;
    }
    return options.target.empty() || options.target == "cpu";
  }

  /// How a candidate fails, in words that are equal for equal failures; "" when it does not.
  std::string outcome(const Candidate &candidate) {
    ++tries;
    FILE *stream = std::fopen(scratch.program.c_str(), "wb");
    if (!stream)
      return "";
    std::fwrite(candidate.text.data(), 1, candidate.text.size(), stream);
    std::fclose(stream);
    std::fflush(nullptr);
    pid_t child = fork();
    if (child == 0)
      runChild(candidate);
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child)
      return "";
    if (!options.keep.empty())
      return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? "the command succeeds" : "";
    std::string messages = contents(scratch.messages);
    if (WIFSIGNALED(status)) {
      int signal = WTERMSIG(status);
      if (signal == SIGALRM)
        return "no end within " + std::to_string(options.seconds) + " s";
      size_t assertion = messages.find("Assertion `");
      return std::string("crash: ") + strsignal(signal) +
             (assertion == messages.npos ? "" : ", " + lineFrom(messages, assertion));
    }
    if (WEXITSTATUS(status) == Success)
      return "";
    if (messages.find(" WRONG\n") != messages.npos)
      return "wrong answer";
    size_t error = messages.find("error: ");
    return error == messages.npos ? "exit status " + std::to_string(WEXITSTATUS(status))
                                  : lineFrom(messages, error);
  }

  [[noreturn]] void runChild(const Candidate &candidate) {
    alarm(unsigned(options.seconds));
    if (!options.keep.empty()) {
      std::string line = options.keep + " " + scratch.program + " >/dev/null 2>&1";
      execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
      _exit(127);
    }
    if (!std::freopen(scratch.messages.c_str(), "wb", stdout) ||
        dup2(STDOUT_FILENO, STDERR_FILENO) < 0)
      _exit(127);
    std::setvbuf(stdout, nullptr, _IONBF, 0);
    Options given = options;
    given.program = function.empty() ? scratch.program : scratch.program + "::" + function;
    given.arguments = candidate.arguments;
    given.output.clear();
    given.check = true;
    int exit = runs() ? run(given) : compile(given);
    std::fflush(nullptr);
    _exit(exit);
  }

  /// Takes a candidate that is smaller and fails in the same way.
  bool attempt(Candidate candidate) {
    std::string key = candidate.text;
    for (const std::string &argument : candidate.arguments)
      (key += '\0') += argument;
    for (const std::string &known : tried)
      if (known == key)
        return false;
    if (outcome(candidate) != kind) {
      tried.push_back(std::move(key));
      return false;
    }
    best = std::move(candidate);
    tried.clear(); // they were parts of a larger program
    ++improvements;
    return true;
  }
  bool attemptText(std::string text) { return attempt({std::move(text), best.arguments}); }

  void reduceSource() {
    for (size_t size = statements(best.text).size(); size > 0; size /= 2) {
      for (size_t i = 0;;) {
        std::vector<Edit> all = statements(best.text);
        if (i >= all.size())
          break;
        auto end = all.begin() + std::ptrdiff_t(std::min(i + size, all.size()));
        if (!attemptText(edited(best.text, {all.begin() + std::ptrdiff_t(i), end})))
          i += size;
      }
    }
    for (bool changed = true; changed;) {
      changed = false;
      for (const Edit &edit : simplerExpressions(best.text))
        if (attemptText(edited(best.text, {edit}))) {
          changed = true;
          break; // the others' places have moved
        }
    }
  }

  void reduceIR() {
    for (bool changed = true; changed;) {
      changed = false;
      for (const std::vector<Edit> &edits : forwardedOperands(best.text))
        if (attemptText(edited(best.text, edits))) {
          changed = true;
          break;
        }
    }
  }

  void reduceArguments() {
    for (size_t i = 0; i < best.arguments.size() && !isIR;) {
      Candidate fewer = best;
      std::string name = fewer.arguments[i].substr(0, fewer.arguments[i].find('='));
      fewer.arguments.erase(fewer.arguments.begin() + std::ptrdiff_t(i));
      fewer.text = edited(fewer.text, parameterNamed(fewer.text, name));
      if (fewer.text == best.text || !attempt(std::move(fewer)))
        ++i;
    }
    while (shrinkSize()) {
    }
  }

  /// One size becomes smaller wherever it occurs, since equal sizes mostly must stay equal, or in
  /// one place alone.
  bool shrinkSize() {
    struct Place {
      size_t argument, begin, end;
      int64_t size;
    };
    std::vector<Place> places;
    for (size_t a = 0; a < best.arguments.size(); ++a) {
      const std::string &text = best.arguments[a];
      for (size_t at = text.find('['); at != text.npos && at + 1 < text.size();) {
        size_t end = text.find_first_of(",]:", at + 1);
        if (end == text.npos)
          break;
        int64_t size = std::strtoll(text.c_str() + at + 1, nullptr, 10);
        if (size > 1 && text[end] != ':')
          places.push_back({a, at + 1, end, size});
        at = text[end] == ']' ? text.npos : end;
      }
    }
    auto with = [&](const std::function<bool(const Place &)> &chosen, int64_t size) {
      Candidate smaller = best;
      for (size_t i = places.size(); i-- > 0;)
        if (chosen(places[i]))
          smaller.arguments[places[i].argument].replace(
              places[i].begin, places[i].end - places[i].begin, std::to_string(size));
      return smaller;
    };
    for (const Place &place : places)
      for (int64_t size : {int64_t(1), int64_t(2), place.size / 2, place.size - 1}) {
        if (size >= place.size || size < 1)
          continue;
        if (attempt(with([&](const Place &other) { return other.size == place.size; }, size)) ||
            attempt(with([&](const Place &other) { return &other == &place; }, size)))
          return true;
      }
    return false;
  }

  const Options &options;
  std::string function;
  Scratch scratch;
  bool isIR;
  Candidate best;
  std::string kind;
  std::vector<std::string> tried;
  size_t tries = 0, improvements = 0;
};

} // namespace

int reduce(const Options &options) {
  size_t separator = options.program.rfind("::");
  std::string file = options.program.substr(0, separator);
  std::string function =
      separator == std::string::npos ? "" : options.program.substr(separator + 2);
  Program program; // tells what is wrong with the usage
  if (!program.read(options.program, options))
    return Usage;
  if (file == "-")
    return usageError("expected a file, standard input cannot be read again");
  return Reducer(options, file, function).reduce({contents(file), options.arguments});
}

} // namespace tessera::cli
