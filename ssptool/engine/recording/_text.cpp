// Rows of numbers as text, as Python's repr writes them: the shortest digits that read back to the same bits.
#define Py_LIMITED_API 0x030B0000
#include <Python.h>

#include <charconv>
#include <cmath>
#include <cstring>
#include <string>

namespace {

constexpr int longest = 26;  // -1.2345678901234567e-308, a separator, and some room

// Where repr changes from fixed to scientific notation: the decimal exponents of the first digit.
constexpr int least_fixed = -4, first_scientific = 16;

char* put(char* at, const char* text) {
  const std::size_t length = std::strlen(text);
  std::memcpy(at, text, length);
  return at + length;
}

char* put(char* at, const char* from, int count) {
  std::memcpy(at, from, static_cast<std::size_t>(count));
  return at + count;
}

char* put_zeros(char* at, int count) {
  std::memset(at, '0', static_cast<std::size_t>(count));
  return at + count;
}

// `count` digits, of which the first stands for 10^exponent.
char* write_fixed(char* at, const char* digits, int count, int exponent) {
  if (exponent < 0) return put(put_zeros(put(at, "0."), -exponent - 1), digits, count);
  const int whole = exponent + 1;
  if (count <= whole) return put(put_zeros(put(at, digits, count), whole - count), ".0");
  return put(put(put(at, digits, whole), "."), digits + whole, count - whole);
}

char* write(char* at, double value) {
  if (std::isnan(value)) return put(at, "nan");
  if (std::isinf(value)) return put(at, value < 0 ? "-inf" : "inf");
  char* const end = std::to_chars(at, at + longest, value, std::chars_format::scientific).ptr;
  char* mark = end;
  while (*--mark != 'e') {
  }
  int exponent = 0;
  std::from_chars(mark[1] == '+' ? mark + 2 : mark + 1, end, exponent);
  if (exponent < least_fixed || exponent >= first_scientific) return end;
  if (*at == '-') ++at;
  char digits[longest];
  digits[0] = at[0];
  const int rest = mark - at > 2 ? static_cast<int>(mark - at) - 2 : 0;
  std::memcpy(digits + 1, at + 2, static_cast<std::size_t>(rest));
  return write_fixed(at, digits, 1 + rest, exponent);
}

// csv(rows, width): rows are contiguous doubles.
PyObject* csv(PyObject*, PyObject* arguments) {
  PyObject* rows = nullptr;
  Py_ssize_t width = 0;
  if (!PyArg_ParseTuple(arguments, "On", &rows, &width)) return nullptr;
  Py_buffer buffer;
  if (PyObject_GetBuffer(rows, &buffer, PyBUF_C_CONTIGUOUS) != 0) return nullptr;
  const auto count = buffer.len / static_cast<Py_ssize_t>(sizeof(double));
  if (width < 1 || count % width != 0 || buffer.len % static_cast<Py_ssize_t>(sizeof(double)) != 0) {
    PyBuffer_Release(&buffer);
    return PyErr_Format(PyExc_ValueError, "%zd bytes are not whole rows of %zd doubles", buffer.len, width);
  }
  std::string text(static_cast<std::size_t>(count) * longest, '\0');
  char* at = text.data();
  const auto* values = static_cast<const double*>(buffer.buf);
  Py_BEGIN_ALLOW_THREADS for (Py_ssize_t i = 0; i < count; ++i) {
    at = write(at, values[i]);
    *at++ = (i + 1) % width == 0 ? '\n' : ',';
  }
  Py_END_ALLOW_THREADS PyBuffer_Release(&buffer);
  return PyBytes_FromStringAndSize(text.data(), at - text.data());
}

PyMethodDef methods[] = {{"csv", csv, METH_VARARGS, "Lines of comma-separated numbers."},
                         {nullptr, nullptr, 0, nullptr}};

PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_text", "Numbers as text.", 0, methods, nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__text() { return PyModule_Create(&definition); }
