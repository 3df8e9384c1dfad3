// .npy files: what is written is read back, byte for byte what NumPy writes, and everything else is
// refused with a sentence that says why.
#include "cli/npy.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "cli/random.hpp"
#include "tessera/error.hpp"

namespace tessera::cli {
namespace {

namespace fs = std::filesystem;

// A file as NumPy lays it out.
std::string npy(std::string header, const std::string& data, char version = 1) {
  std::string file = "\x93NUMPY";
  file += version;
  file += '\0';
  header += '\n';
  file += static_cast<char>(header.size() & 0xff);
  file += static_cast<char>(header.size() >> 8);
  if (version > 1) file += std::string(2, '\0');
  return file + header + data;
}

std::string floats(std::initializer_list<float> values) {
  std::string data(values.size() * sizeof(float), '\0');
  std::memcpy(data.data(), values.begin(), data.size());
  return data;
}

Matrix read(const std::string& bytes, Uint16 uint16 = Uint16::refuse) {
  std::istringstream in(bytes);
  return read_npy(in, "test.npy", uint16);
}

// The message with which bytes are refused; empty if they are not.
std::string refusal(const std::string& bytes) {
  try {
    read(bytes);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::io);
    return error.what();
  }
  return "";
}

constexpr const char* kTwoByTwo = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }";

class NpyFiles : public ::testing::Test {
 protected:
  NpyFiles() : folder_(fs::temp_directory_path() / ("tessera_npy_" + std::to_string(getpid()))) {
    fs::create_directories(folder_);
  }
  ~NpyFiles() override { fs::remove_all(folder_); }

  std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  fs::path folder_;
};

MatrixStack read_stack(const std::string& bytes) {
  std::istringstream in(bytes);
  return read_npy_stack(in, "test.npy");
}

TEST(Npy, ReadsABatchOfMatrices) {
  MatrixStack stack;
  {
    stack = read_stack(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1, 3), }",
                           floats({1, 2, 3, 4, 5, 6})));
  }
  ASSERT_TRUE(stack.is_batch);
  ASSERT_EQ(stack.matrices.size(), 2U);
  // The memory lives as long as one of them.
  stack.matrices.erase(stack.matrices.begin());
  const Matrix& second = stack.matrices.front();
  EXPECT_EQ(second.rows(), 1);
  EXPECT_EQ(second.cols(), 3);
  EXPECT_EQ(second.bytes().size(), 12U);
  EXPECT_EQ(static_cast<const float*>(second.view().data)[2], 6);
  EXPECT_FALSE(read_stack(npy(kTwoByTwo, floats({1, 2, 3, 4}))).is_batch);
}

TEST(Npy, RefusesWhatIsNoBatch) {
  const auto refused = [](const std::string& shape, const std::string& data,
                          const std::string& order = "False") {
    try {
      read_stack(
          npy("{'descr': '<f4', 'fortran_order': " + order + ", 'shape': " + shape + ", }", data));
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_NE(refused("(2,)", floats({1, 2})).find("two or three dimensions"), std::string::npos);
  EXPECT_NE(refused("(1, 1, 1, 1)", floats({1})).find("4 dimensions"), std::string::npos);
  EXPECT_NE(refused("(0, 2, 2)", "").find("1 to 1048576"), std::string::npos);
  EXPECT_NE(refused("(1099511627776, 0, 2)", "").find("1 to 1048576"), std::string::npos);
  EXPECT_NE(refused("(2, 4611686018427387904, 4)", "").find("counted in bytes"), std::string::npos);
  // No element, but a row of each matrix would be longer than can be counted.
  EXPECT_NE(refused("(3, 0, 8000000001573508800)", "").find("counted in bytes"), std::string::npos);
  EXPECT_NE(refused("(2, 1, 1)", floats({1})).find("2x1x1 elements"), std::string::npos);
  EXPECT_NE(refused("(2, 1, 1)", floats({1, 2}), "True").find("ascontiguousarray"),
            std::string::npos);
}

TEST(Npy, ReadsRowsAndColumns) {
  const Matrix rows = read(npy(kTwoByTwo, floats({1, 2, 3, 4})));
  EXPECT_EQ(rows.major(), Major::row);
  EXPECT_EQ(rows.view().row_stride, 2);
  const Matrix columns =
      read(npy("{'descr': '<f4', 'fortran_order': True, 'shape': (3, 1), }", floats({1, 2, 3})));
  EXPECT_EQ(columns.major(), Major::column);
  EXPECT_EQ(columns.rows(), 3);
  EXPECT_EQ(columns.view().col_stride, 3);
}

TEST(Npy, ReadsEveryVersionAndAnyOrderOfKeys) {
  const std::string header = R"({"shape":(1,2),"fortran_order":False,"descr":"<f4"})";
  for (const char version : {'\1', '\2', '\3'}) {
    EXPECT_EQ(read(npy(header, floats({1, 2}), version)).cols(), 2);
  }
}

TEST(Npy, ReadsEmptyMatrices) {
  EXPECT_EQ(read(npy("{'descr': '<f8', 'fortran_order': False, 'shape': (0, 7), }", "")).cols(), 7);
  const MatrixStack batch =
      read_stack(npy("{'descr': '<f8', 'fortran_order': False, 'shape': (3, 0, 7), }", ""));
  ASSERT_EQ(batch.matrices.size(), 3u);
  EXPECT_EQ(batch.matrices[2].rows(), 0);
  EXPECT_EQ(batch.matrices[2].cols(), 7);
}

TEST(Npy, TakesUint16OnlyAsBfloat16) {
  const std::string file =
      npy("{'descr': '<u2', 'fortran_order': False, 'shape': (1, 1), }", std::string(2, '\1'));
  EXPECT_EQ(read(file, Uint16::is_bf16).type(), ElementType::bf16);
  EXPECT_NE(refusal(file).find("--type bf16"), std::string::npos);
}

TEST(Npy, RefusesWhatIsNoNpyFile) {
  EXPECT_NE(refusal("").find("0 bytes"), std::string::npos);
  EXPECT_NE(refusal("hello, this is no matrix").find(".npy"), std::string::npos);
  EXPECT_NE(refusal(npy(kTwoByTwo, floats({1, 2, 3, 4}), 9)).find("version"), std::string::npos);
  EXPECT_NE(refusal(npy("no dictionary", "")), "");
  EXPECT_NE(refusal(npy("{'descr': '<f4', 'shape': (1, 1), }", floats({1}))), "");
  EXPECT_NE(refusal(npy("{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (1, 1), }",
                        floats({1}))),
            "");
  EXPECT_NE(refusal(npy("{'descr': '<f4', 'fortran_order': 0, 'shape': (1, 1), }", floats({1}))),
            "");
  EXPECT_NE(refusal(npy(std::string(kTwoByTwo) + " and more", floats({1, 2, 3, 4}))), "");
}

TEST(Npy, RefusesTruncatedAndOverlongFiles) {
  const std::string whole = npy(kTwoByTwo, floats({1, 2, 3, 4}));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_NE(refusal(whole.substr(0, size)), "") << size;
  }
  EXPECT_NE(refusal(whole + "x").find("17 bytes"), std::string::npos);
}

TEST(Npy, RefusesForeignTypesShapesAndByteOrder) {
  const auto with = [](const std::string& descr, const std::string& shape) {
    return refusal(
        npy("{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }",
            std::string(16, '\0')));
  };
  EXPECT_NE(with(">f4", "(2, 2)").find("little-endian"), std::string::npos);
  EXPECT_NE(with("<c8", "(1, 2)").find("'<c8'"), std::string::npos);
  EXPECT_NE(with("<f4", "(4,)").find("1 dimensions"), std::string::npos);
  EXPECT_NE(with("<f4", "()").find("0 dimensions"), std::string::npos);
  EXPECT_NE(with("<f4", "(2, -2)"), "");
  EXPECT_NE(with("<f4", "(2, 99999999999999999999)"), "");
  // 2^62 · 4 elements overflow; nothing may be allocated for them.
  EXPECT_NE(with("<f4", "(4611686018427387904, 4)"), "");
}

TEST(Npy, KeepsControlCharactersOutOfMessages) {
  const std::string message = refusal(npy("{'\x1b[31m': 1}", ""));
  EXPECT_EQ(message.find('\x1b'), std::string::npos);
}

TEST_F(NpyFiles, ReadsBackWhatItWrote) {
  for (const ElementType type :
       {ElementType::f64, ElementType::f32, ElementType::f16, ElementType::bf16, ElementType::i8,
        ElementType::u8, ElementType::i32}) {
    for (const Major major : {Major::row, Major::column}) {
      Matrix matrix(3, 5, type, major);
      fill_random(matrix, 1);
      write_npy(folder_ / "m.npy", matrix);
      const Matrix back = read_npy(folder_ / "m.npy", Uint16::is_bf16);
      EXPECT_EQ(back.type(), type);
      EXPECT_EQ(back.major(), major);
      ASSERT_EQ(back.bytes().size(), matrix.bytes().size());
      EXPECT_EQ(std::memcmp(back.bytes().data(), matrix.bytes().data(), back.bytes().size()), 0);
    }
  }
  EXPECT_EQ(files(), 1u);
}

TEST_F(NpyFiles, AlignsTheDataAsNumpyDoes) {
  Matrix matrix(1, 1, ElementType::f64);
  fill_random(matrix, 1);
  write_npy(folder_ / "m.npy", matrix);
  EXPECT_EQ(fs::file_size(folder_ / "m.npy") % 64, 8u);
}

TEST_F(NpyFiles, LeavesNothingBehindWhereItCannotWrite) {
  const Matrix matrix(1, 1, ElementType::f32);
  EXPECT_THROW(write_npy(folder_ / "missing" / "m.npy", matrix), Error);
  fs::create_directory(folder_ / "directory.npy");
  EXPECT_THROW(write_npy(folder_ / "directory.npy", matrix), Error);
  EXPECT_THROW(write_npy("/dev/null", matrix), Error);
  EXPECT_EQ(files(), 1u);
}

TEST_F(NpyFiles, RefusesFilesThatAreNone) {
  EXPECT_THROW(read_npy(folder_ / "missing.npy"), Error);
  EXPECT_THROW(read_npy(folder_), Error);
}

TEST_F(NpyFiles, ABatchComesBackAsItWas) {
  Matrix first(3, 2, ElementType::f32);
  Matrix second(3, 2, ElementType::f32);
  fill_random(first, 1);
  fill_random(second, 2);
  write_npy_stack(folder_ / "batch.npy", {&first, &second});
  const MatrixStack read = read_npy_stack(folder_ / "batch.npy");
  ASSERT_TRUE(read.is_batch);
  ASSERT_EQ(read.matrices.size(), 2U);
  EXPECT_TRUE(std::ranges::equal(read.matrices[0].bytes(), first.bytes()));
  EXPECT_TRUE(std::ranges::equal(read.matrices[1].bytes(), second.bytes()));
}

TEST_F(NpyFiles, VectorsHaveOneDimensionOrAnotherOfOne) {
  const auto write = [&](const std::string& shape, const std::string& data) {
    std::ofstream(folder_ / "v.npy", std::ios::binary)
        << npy("{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + ", }", data);
  };
  write("(3,)", floats({1, 2, 3}));
  EXPECT_TRUE(read_npy_vector(folder_ / "v.npy").has_one_dimension);
  EXPECT_EQ(read_npy_vector(folder_ / "v.npy").values.cols(), 3);
  write("(3, 1)", floats({1, 2, 3}));
  EXPECT_FALSE(read_npy_vector(folder_ / "v.npy").has_one_dimension);
  EXPECT_EQ(read_npy_vector(folder_ / "v.npy").values.rows(), 3);
  write("(2, 2)", floats({1, 2, 3, 4}));
  EXPECT_THROW(read_npy_vector(folder_ / "v.npy"), Error);
  write("()", floats({1}));
  EXPECT_THROW(read_npy_vector(folder_ / "v.npy"), Error);
}

}  // namespace
}  // namespace tessera::cli
