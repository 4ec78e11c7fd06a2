// A tile of products in float32, kBm rows by kBn columns, in shared memory kBk deep: each thread sums kTm x kTn of it.
layout(constant_id = 1) const uint kBm = 64;
layout(constant_id = 2) const uint kBn = 64;
layout(constant_id = 3) const uint kTm = 4;
layout(constant_id = 4) const uint kTn = 4;
const uint kBk = 16, kThreads = (kBm / kTm) * (kBn / kTn);
const uint kRowPitch = kBm + 4, kColumnPitch = kBn + 4;
shared float rows_[kBk * kRowPitch];        // [depth][row]
shared float columns_[kBk * kColumnPitch];  // [depth][column]

uint first_row() { return gl_LocalInvocationID.x / (kBn / kTn) * kTm; }
uint first_column() { return gl_LocalInvocationID.x % (kBn / kTn) * kTn; }

float sums[kTm * kTn];  // the thread's, [row][column]

// Adds the products of what is staged.
void add_products() {
    const uint row = first_row(), column = first_column();
    for (uint depth = 0; depth < kBk; ++depth) {
        float right[kTn];
        [[unroll]] for (uint j = 0; j < kTn; ++j) right[j] = columns_[depth * kColumnPitch + column + j];
        [[unroll]] for (uint i = 0; i < kTm; ++i) {
            const float left = rows_[depth * kRowPitch + row + i];
            [[unroll]] for (uint j = 0; j < kTn; ++j) sums[i * kTn + j] = fma(left, right[j], sums[i * kTn + j]);
        }
    }
}
