// HDF5 written and read back, and what is refused.
#include <gtest/gtest.h>
#include <hdf5.h>

#include <tuple>

#include "lib/io/tables/hdf5.h"
#include "tests/support/full_disk.h"
#include "tests/support/support.h"
#include "tests/unit/io/expect_error.h"

namespace bigbird {
namespace {

using testing::error_of;
using testing::expect_bad_input;
using testing::TemporaryFolder;

TEST(Hdf5, MatricesGrowByPiecesOfAnySize) {
  const TemporaryFolder folder;
  const std::string path = (folder / "m.h5").string();
  constexpr std::int64_t columns = 919;  // 71 rows to a chunk
  std::vector<float> values(static_cast<std::size_t>(columns) * 300);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 9973) / 7;
  Hdf5Writer writer(path);
  const std::size_t first = writer.add_matrix("first", columns);
  const std::size_t second = writer.add_matrix("second", 1);
  std::size_t row = 0;
  for (const std::size_t rows : std::vector<std::size_t>{1, 0, 70, 71, 100, 3, 55}) {  // 300
    writer.append(first, std::span(values).subspan(row * columns, rows * columns));
    writer.append(second, std::span(values).subspan(row, rows));
    row += rows;
  }
  EXPECT_TRUE(error_of([&] { writer.append(first, std::span(values).first(5)); }).has_value());
  writer.attribute("made", "here: \xc3\xa9");
  writer.write_strings("names", {"a", "", "chr1:1-2 \xc3\xa9"});
  writer.write_strings("none", {});
  writer.write_int64("places", std::vector<std::int64_t>{-1, std::int64_t{1} << 40});
  EXPECT_FALSE(std::filesystem::exists(path));
  writer.commit();
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);

  const Hdf5Reader reader(path);
  EXPECT_EQ(reader.names(), (std::vector<std::string>{"first", "names", "none", "places", "second"}));
  EXPECT_EQ(reader.shape("first"), (std::vector<std::int64_t>{300, columns}));
  EXPECT_EQ(reader.read_floats("first"), values);
  EXPECT_EQ(reader.read_floats("second"), std::vector<float>(values.begin(), values.begin() + 300));
  EXPECT_EQ(reader.read_strings("names"), (std::vector<std::string>{"a", "", "chr1:1-2 \xc3\xa9"}));
  EXPECT_TRUE(reader.read_strings("none").empty());
  EXPECT_EQ(reader.read_int64("places"), (std::vector<std::int64_t>{-1, std::int64_t{1} << 40}));
  EXPECT_EQ(reader.attribute("made"), "here: \xc3\xa9");
  EXPECT_EQ(reader.attribute("absent"), "");
}

TEST(Hdf5, SlabsAreCutFromTheLastAxis) {
  const TemporaryFolder folder;
  const std::string path = (folder / "s.h5").string();
  constexpr hsize_t shape[3] = {2, 3, 10};
  const hsize_t chunk[3] = {1, 3, 4};
  std::vector<std::uint8_t> values(60);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::uint8_t>(i);
  const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  const hid_t space = H5Screate_simple(3, shape, nullptr);
  const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
  const hid_t whole = H5Dcreate2(file, "whole", H5T_STD_U8LE, space, H5P_DEFAULT, properties, H5P_DEFAULT);
  H5Pset_chunk(properties, 3, chunk);
  H5Pset_deflate(properties, 3);
  const hid_t chunked =
      H5Dcreate2(file, "chunked", H5T_STD_I32BE, space, H5P_DEFAULT, properties, H5P_DEFAULT);
  for (const hid_t dataset : {whole, chunked}) {
    EXPECT_GE(H5Dwrite(dataset, H5T_NATIVE_UINT8, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), 0);
    H5Dclose(dataset);
  }
  H5Pclose(properties);
  H5Sclose(space);
  H5Fclose(file);

  const Hdf5Reader reader(path);
  EXPECT_EQ(reader.chunk_of_last_axis("whole"), 0);
  EXPECT_EQ(reader.chunk_of_last_axis("chunked"), 4);
  std::vector<std::uint8_t> slab;
  for (const char* name : {"whole", "chunked"}) {
    reader.read_slab(name, 3, 6, slab);
    ASSERT_EQ(slab.size(), 18u);
    for (std::size_t i = 0; i < 18; ++i) EXPECT_EQ(slab[i], i / 3 * 10 + 3 + i % 3) << name << i;
    reader.read_slab(name, 10, 10, slab);
    EXPECT_TRUE(slab.empty());
    expect_bad_input(error_of([&] { reader.read_slab(name, 9, 11, slab); }), "s.h5",
                     "holds no elements 9-11");
  }
  expect_bad_input(error_of([&] { reader.read_slab("absent", 0, 1, slab); }), "s.h5", "no such dataset");
  expect_bad_input(error_of([&] { (void)reader.read_strings("whole"); }), "s.h5", "holds no strings");
}

TEST(Hdf5, RefusesWhatIsNoFileOfItsKind) {
  const TemporaryFolder folder;
  expect_bad_input(error_of([&] { Hdf5Reader((folder / "absent.h5").string()); }), "absent.h5",
                   "cannot read");
  testing::write_text(folder / "text.h5", "no HDF5 at all");
  expect_bad_input(error_of([&] { Hdf5Reader((folder / "text.h5").string()); }), "text.h5",
                   "not a whole HDF5");
  {
    Hdf5Writer writer((folder / "cut.h5").string());
    writer.append(writer.add_matrix("m", 10), std::vector<float>(100000, 1));
    writer.commit();
  }
  const std::string bytes = testing::read_text(folder / "cut.h5");
  testing::write_text(folder / "cut.h5", bytes.substr(0, bytes.size() / 2));
  expect_bad_input(error_of([&] { Hdf5Reader((folder / "cut.h5").string()); }), "cut.h5", "not a whole HDF5");
  const auto error = error_of([] { Hdf5Writer("/dev/null"); });
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->kind(), ErrorKind::usage);
  { Hdf5Writer((folder / "left.h5").string()).add_matrix("m", 3); }
  EXPECT_FALSE(std::filesystem::exists(folder / "left.h5"));
}

// A file that may not grow, as on a full disk: an Error, no file, and a process that ends.
TEST(Hdf5, AFileThatCannotBeWrittenLeavesNothing) {
  const TemporaryFolder folder;
  const std::string path = (folder / "m.h5").string();
  std::vector<float> values(50000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 7919 % 10007);
  const auto write = [&] {
    Hdf5Writer writer(path);
    const std::size_t matrix = writer.add_matrix("m", 10);
    for (int i = 0; i < 5; ++i) writer.append(matrix, values);
    writer.commit();
  };
  testing::expect_nothing_left_on_a_full_disk(path, write);
}

// Chunks that were never written take no room, so a file may claim any extents.
TEST(Hdf5, ExtentsThatTheFileCannotHoldAreRefusedBeforeMemoryIsTaken) {
  const TemporaryFolder folder;
  const std::string path = (folder / "lie.h5").string();
  const hsize_t shape[2] = {hsize_t{1} << 34, hsize_t{1} << 20},
                huge[2] = {hsize_t{1} << 40, hsize_t{1} << 40};
  const hsize_t chunk[2] = {16, 16}, four[1] = {4};
  const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_chunk(properties, 2, chunk);
  const hid_t text = H5Tcopy(H5T_C_S1);
  H5Tset_size(text, H5T_VARIABLE);
  H5Tset_cset(text, H5T_CSET_UTF8);
  for (const auto& [name, sizes, type] :
       {std::tuple{"large", shape, H5T_IEEE_F32LE}, std::tuple{"huge", huge, H5T_IEEE_F32LE},
        std::tuple{"texts", shape, text}}) {
    const hid_t space = H5Screate_simple(2, sizes, nullptr);
    const hid_t dataset = H5Dcreate2(file, name, type, space, H5P_DEFAULT, properties, H5P_DEFAULT);
    EXPECT_GE(dataset, 0) << name;
    H5Dclose(dataset);
    H5Sclose(space);
  }
  const hid_t space = H5Screate_simple(1, four, nullptr);
  const hid_t attribute = H5Acreate2(file, "many", text, space, H5P_DEFAULT, H5P_DEFAULT);
  const char* values[4] = {"a", "b", "c", "d"};
  EXPECT_GE(H5Awrite(attribute, text, values), 0);
  H5Aclose(attribute);
  H5Sclose(space);
  H5Tclose(text);
  H5Pclose(properties);
  H5Fclose(file);

  const Hdf5Reader reader(path);
  std::vector<std::uint8_t> slab;
  expect_bad_input(error_of([&] { (void)reader.read_floats("large"); }), "lie.h5: large", "extents");
  expect_bad_input(error_of([&] { (void)reader.read_int64("huge"); }), "lie.h5: huge", "extents");
  expect_bad_input(error_of([&] { (void)reader.shape("huge"); }), "lie.h5: huge", "extents");
  expect_bad_input(error_of([&] { (void)reader.read_strings("texts"); }), "lie.h5: texts", "extents");
  expect_bad_input(error_of([&] { reader.read_slab("large", 0, 1, slab); }), "lie.h5: large", "");
  expect_bad_input(error_of([&] { (void)reader.attribute("many"); }), "lie.h5: attribute many",
                   "not a single string");
}

// A dataset of four bytes at the top of `file`.
void put_four(hid_t file, const char* name, hid_t properties) {
  const hsize_t four[1] = {4};
  const std::uint8_t values[4] = {1, 2, 3, 4};
  const hid_t space = H5Screate_simple(1, four, nullptr);
  const hid_t dataset = H5Dcreate2(file, name, H5T_STD_U8LE, space, H5P_DEFAULT, properties, H5P_DEFAULT);
  EXPECT_GE(dataset, 0) << name;
  if (H5Pget_layout(properties) != H5D_VIRTUAL) {
    EXPECT_GE(H5Dwrite(dataset, H5T_NATIVE_UINT8, H5S_ALL, H5S_ALL, H5P_DEFAULT, values), 0) << name;
  }
  H5Dclose(dataset);
  H5Sclose(space);
}

// A file from elsewhere must not make us read what it names: links, external storage, virtual datasets.
TEST(Hdf5, OtherFilesThatAFileNamesAreNotRead) {
  const TemporaryFolder folder;
  const std::string path = (folder / "names.h5").string(), other = (folder / "other.h5").string();
  const std::string raw = (folder / "raw.bin").string();
  const hid_t plain = H5Pcreate(H5P_DATASET_CREATE);
  hid_t file = H5Fcreate(other.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  put_four(file, "d", plain);
  H5Fclose(file);
  file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  put_four(file, "own", plain);
  EXPECT_GE(H5Lcreate_external(other.c_str(), "/d", file, "linked", H5P_DEFAULT, H5P_DEFAULT), 0);
  const hid_t outside = H5Pcreate(H5P_DATASET_CREATE);
  EXPECT_GE(H5Pset_external(outside, raw.c_str(), 0, 4), 0);
  put_four(file, "outside", outside);
  const hsize_t four[1] = {4};
  const hid_t space = H5Screate_simple(1, four, nullptr), composed = H5Pcreate(H5P_DATASET_CREATE);
  EXPECT_GE(H5Pset_virtual(composed, space, other.c_str(), "/d", space), 0);
  put_four(file, "virtual", composed);
  H5Sclose(space);
  for (const hid_t properties : {plain, outside, composed}) H5Pclose(properties);
  H5Fclose(file);
  ASSERT_EQ(testing::read_text(raw), "\x01\x02\x03\x04");

  const Hdf5Reader reader(path);
  EXPECT_EQ(reader.names(), (std::vector<std::string>{"outside", "own", "virtual"}));
  EXPECT_EQ(reader.read_int64("own"), (std::vector<std::int64_t>{1, 2, 3, 4}));
  expect_bad_input(error_of([&] { (void)reader.read_int64("linked"); }), "names.h5: linked",
                   "no such dataset");
  for (const char* name : {"outside", "virtual"}) {
    expect_bad_input(error_of([&] { (void)reader.read_int64(name); }), std::string("names.h5: ") + name,
                     "other files");
    expect_bad_input(error_of([&] { (void)reader.shape(name); }), name, "other files");
  }
}

TEST(Hdf5, ANameWithALineBreakLeavesAMessageOneLine) {
  const TemporaryFolder folder;
  const std::string path = (folder / "n.h5").string();
  Hdf5Writer writer(path);
  writer.write_int64("two\nlines", std::vector<std::int64_t>{1});
  writer.commit();
  const Hdf5Reader reader(path);
  expect_bad_input(error_of([&] { (void)reader.read_strings("two\nlines"); }), "n.h5: two?lines",
                   "holds no strings");
}

TEST(Hdf5, AValueThatTheReadersTypeDoesNotHoldIsNotMadeAnother) {
  const TemporaryFolder folder;
  const std::string path = (folder / "n.h5").string();
  Hdf5Writer writer(path);
  writer.write_int64("bytes", std::vector<std::int64_t>{0, 1, 255});
  writer.write_int64("large", std::vector<std::int64_t>{0, 256});
  writer.write_int64("negative", std::vector<std::int64_t>{0, -1});
  writer.write_int64("long", std::vector<std::int64_t>{16'777'217});
  writer.commit();
  const Hdf5Reader reader(path);
  std::vector<std::uint8_t> slab;
  reader.read_slab("bytes", 0, 3, slab);
  EXPECT_EQ(slab, (std::vector<std::uint8_t>{0, 1, 255}));
  for (const char* name : {"large", "negative"}) {
    expect_bad_input(error_of([&] { reader.read_slab(name, 0, 2, slab); }), std::string("n.h5: ") + name,
                     "does not");
  }
  EXPECT_EQ(reader.read_floats("long"), (std::vector<float>{16'777'216.0F}))
      << "rounding is what a float does";
}

}  // namespace
}  // namespace bigbird
