// Rows of values as text. Numbers have the shortest digits that read back to the same bits, as in Python's repr.
#ifndef Py_LIMITED_API  // a package for all later versions sets it
#define Py_LIMITED_API 0x030B0000
#endif
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

namespace {

constexpr std::size_t longest = 26;  // -1.2345678901234567e-308, a separator, and some room

// Range of the decimal exponent of the first digit in which repr uses fixed notation.
constexpr int least_fixed = -4, first_scientific = 16;

char* put(char* at, std::string_view text) {
  std::memcpy(at, text.data(), text.size());
  return at + text.size();
}

char* put_zeros(char* at, int count) {
  std::memset(at, '0', static_cast<std::size_t>(count));
  return at + count;
}

// Writes digits; the first digit has the value of 10^exponent.
char* write_fixed(char* at, std::string_view digits, int exponent) {
  if (exponent < 0) return put(put_zeros(put(at, "0."), -exponent - 1), digits);
  const int whole = exponent + 1, count = static_cast<int>(digits.size());
  if (count <= whole) return put(put_zeros(put(at, digits), whole - count), ".0");
  return put(put(put(at, digits.substr(0, whole)), "."), digits.substr(whole));
}

char* write_number(char* at, double value) {
  if (std::isnan(value)) return put(at, "nan");
  if (std::isinf(value)) return put(at, value < 0 ? "-inf" : "inf");
  if (value == 0.0) return put(at, std::signbit(value) ? "-0.0" : "0.0");
  char* const end = std::to_chars(at, at + longest, value, std::chars_format::scientific).ptr;
  char* mark = end - 3;  // an exponent has two digits or three
  if (*mark != '-' && *mark != '+') --mark;
  int exponent = 0;
  std::from_chars(mark[0] == '+' ? mark + 1 : mark, end, exponent);
  if (exponent < least_fixed || exponent >= first_scientific) return end;
  --mark;
  if (*at == '-') ++at;
  char digits[longest];
  digits[0] = at[0];
  const std::size_t rest = mark - at > 2 ? static_cast<std::size_t>(mark - at) - 2 : 0;
  std::memcpy(digits + 1, at + 2, rest);
  return write_fixed(at, {digits, 1 + rest}, exponent);
}

struct Rows {
  const std::uint64_t* cells;
  std::size_t count, width;
  const char* kinds;  // per column: 'f' double, 'i' signed, 'u' unsigned, 't' numbers of texts, 'b' numbers of bytes
  std::vector<std::string_view> texts, bytes;  // in the form in which they are written

  // The texts or bytes that the numbers in a column stand for; null if the numbers are values.
  const std::vector<std::string_view>* meanings(std::size_t column) const {
    return kinds[column] == 't' ? &texts : kinds[column] == 'b' ? &bytes : nullptr;
  }
};

char* write_cell(char* at, std::uint64_t cell, char kind, const Rows& rows) {
  switch (kind) {
    case 'i': return std::to_chars(at, at + longest, static_cast<std::int64_t>(cell)).ptr;
    case 'u': return std::to_chars(at, at + longest, cell).ptr;
    case 't': return put(at, rows.texts[cell]);
    case 'b': return put(at, rows.bytes[cell]);
    default: return write_number(at, std::bit_cast<double>(cell));
  }
}

char* write(char* at, const Rows& rows) {
  const std::uint64_t* cell = rows.cells;
  for (std::size_t row = 0; row < rows.count; ++row) {
    for (std::size_t column = 0; column < rows.width; ++column) {
      at = write_cell(at, *cell++, rows.kinds[column], rows);
      *at++ = ',';
    }
    at[-1] = '\n';
  }
  return at;
}

// Number of bytes that is certainly sufficient; none if a cell has the number of a text that does not exist.
std::size_t room(const Rows& rows) {
  std::size_t sum = rows.count * rows.width * longest + 1;
  for (std::size_t column = 0; column < rows.width; ++column) {
    const auto* const meanings = rows.meanings(column);
    if (meanings == nullptr) continue;
    for (std::size_t row = 0; row < rows.count; ++row) {
      const std::uint64_t number = rows.cells[row * rows.width + column];
      if (number >= meanings->size()) return 0;
      sum += (*meanings)[number].size();
    }
  }
  return sum;
}

bool take(PyObject* list, std::vector<std::string_view>& texts) {
  const Py_ssize_t count = PyList_Size(list);
  if (count < 0) return false;
  for (Py_ssize_t i = 0; i < count; ++i) {
    char* text = nullptr;
    Py_ssize_t length = 0;
    if (PyBytes_AsStringAndSize(PyList_GetItem(list, i), &text, &length) != 0) return false;
    texts.emplace_back(text, static_cast<std::size_t>(length));
  }
  return true;
}

PyObject* as_text(const Rows& rows) {
  const std::size_t size = room(rows);
  if (size == 0) return PyErr_Format(PyExc_IndexError, "a cell is the number of no text");
  const std::unique_ptr<char, decltype(&std::free)> text(static_cast<char*>(std::malloc(size)), &std::free);
  if (!text) return PyErr_NoMemory();
  char* end = nullptr;
  Py_BEGIN_ALLOW_THREADS;
  end = write(text.get(), rows);
  Py_END_ALLOW_THREADS;
  return PyBytes_FromStringAndSize(text.get(), end - text.get());
}

// csv(rows, kinds, texts, bytes): rows are contiguous cells of eight bytes.
PyObject* csv(PyObject*, PyObject* arguments) {
  PyObject *array = nullptr, *texts = nullptr, *bytes = nullptr;
  const char* kinds = nullptr;
  Py_ssize_t width = 0;
  if (!PyArg_ParseTuple(arguments, "Oy#OO", &array, &kinds, &width, &texts, &bytes)) return nullptr;
  Py_buffer buffer;
  if (PyObject_GetBuffer(array, &buffer, PyBUF_C_CONTIGUOUS) != 0) return nullptr;
  const Py_ssize_t row = width * static_cast<Py_ssize_t>(sizeof(double));
  PyObject* result = nullptr;
  if (row == 0 || buffer.len % row != 0) {
    PyErr_Format(PyExc_ValueError, "%zd bytes are not whole rows of %zd cells", buffer.len, width);
  } else {
    Rows rows{static_cast<const std::uint64_t*>(buffer.buf),
              static_cast<std::size_t>(buffer.len / row),
              static_cast<std::size_t>(width),
              kinds,
              {},
              {}};
    if (take(texts, rows.texts) && take(bytes, rows.bytes)) result = as_text(rows);
  }
  PyBuffer_Release(&buffer);
  return result;
}

PyMethodDef methods[] = {{"csv", csv, METH_VARARGS, "Lines of comma-separated values."},
                         {nullptr, nullptr, 0, nullptr}};

PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_text", "Values as text.", 0, methods, nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__text() { return PyModule_Create(&definition); }
