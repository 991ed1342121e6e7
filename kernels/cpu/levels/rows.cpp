// Rows and element-wise work: LayerNorm, activations, tanh, rotary positions, softmax statistics, sums,
// dropout.
#include "kernels/activations.h"
#include "kernels/cpu/levels/philox_lanes.h"

namespace bigbird::kernels::BIGBIRD_LEVEL {

namespace {

// Sums over a row: body(get, offset) gives a vector whose missing lanes must be zero.
struct RowSum {
  Floats lanes_sum = {};
  BIGBIRD_INLINE_MEMBER void add(Floats value) { lanes_sum += value; }
  BIGBIRD_INLINE_MEMBER float total() const { return sum_of_lanes(lanes_sum); }
};

// An activation is x * gate(x); activations.h has them one number at a time. rough_gate: of what is rounded
// to bf16 next.
struct TanhGelu {
  // sigmoid(2u)
  static BIGBIRD_INLINE_MEMBER Floats gate(Floats x) {
    const Floats twice_u = splat(2.0f * gelu_slope) * (x + splat(gelu_cubic) * x * x * x);
    return splat(1.0f) / (splat(1.0f) + exp(-twice_u));
  }
  static BIGBIRD_INLINE_MEMBER Floats rough_gate(Floats x) {
    constexpr float slope = -2.0f * gelu_slope * log2_e;
    const Floats power = x * (splat(slope * gelu_cubic) * x * x + splat(slope));
    return rough_inverse(splat(1.0f) + rough_exp2(power));
  }
  static BIGBIRD_INLINE_MEMBER Floats derivative(Floats x) {
    const Floats g = gate(x);
    const Floats twice_slope = splat(2.0f * gelu_slope) * (splat(1.0f) + splat(3.0f * gelu_cubic) * x * x);
    return g + x * g * (splat(1.0f) - g) * twice_slope;
  }
};

struct ErfGelu {
  // The normal distribution function: 1/2 + x p(x^2) around zero, exp(q(|x|)) in the tails. p interpolates at
  // the Chebyshev nodes of 0..1.3^2, q is a least squares fit over 1.3..8 weighted with |x gate(x)| and falls
  // on until 12; together within 1e-7 of gelu in fp32.
  static BIGBIRD_INLINE_MEMBER Floats gate(Floats x) {
    const Floats square = x * x;
    Floats p = splat(-6.64679855e-6f);
    p = p * square + splat(1.10447834e-4f);
    p = p * square + splat(-1.18308969e-3f);
    p = p * square + splat(9.97190481e-3f);
    p = p * square + splat(-6.64901426e-2f);
    p = p * square + splat(3.98942275e-1f);
    const Floats near_zero = splat(0.5f) + p * x;
    const Floats magnitude = x < Floats{} ? -x : x;
    const Floats far = magnitude > splat(12.0f) ? splat(12.0f) : magnitude;
    Floats q = splat(-9.45667155e-7f);
    q = q * far + splat(3.49742137e-5f);
    q = q * far + splat(-5.70407377e-4f);
    q = q * far + splat(5.51524183e-3f);
    q = q * far + splat(-3.62764956e-2f);
    q = q * far + splat(-3.19694412e-1f);
    q = q * far + splat(-7.96264573e-1f);
    q = q * far + splat(-6.93773509e-1f);
    const Floats tail = exp(q);
    const Floats far_gate = x < Floats{} ? tail : splat(1.0f) - tail;
    return magnitude > splat(1.3f) ? far_gate : near_zero;
  }
  static BIGBIRD_INLINE_MEMBER Floats rough_gate(Floats x) { return gate(x); }
  static BIGBIRD_INLINE_MEMBER Floats derivative(Floats x) {
    return gate(x) + x * splat(normal_density_at_zero) * exp(splat(-0.5f) * x * x);
  }
};

struct Relu {
  static BIGBIRD_INLINE_MEMBER Floats gate(Floats x) { return x > Floats{} ? splat(1.0f) : Floats{}; }
  static BIGBIRD_INLINE_MEMBER Floats rough_gate(Floats x) { return gate(x); }
  static BIGBIRD_INLINE_MEMBER Floats derivative(Floats x) { return x == x ? gate(x) : x; }
};

struct Silu {
  static BIGBIRD_INLINE_MEMBER Floats gate(Floats x) { return splat(1.0f) / (splat(1.0f) + exp(-x)); }
  static BIGBIRD_INLINE_MEMBER Floats rough_gate(Floats x) {
    return rough_inverse(splat(1.0f) + rough_exp2(x * splat(-log2_e)));
  }
  static BIGBIRD_INLINE_MEMBER Floats derivative(Floats x) {
    const Floats g = gate(x);
    return g + x * g * (splat(1.0f) - g);
  }
};

// Of to_bf16() in kernels/bf16.h, vector by vector.
BIGBIRD_INLINE Halves narrowed(Floats value) {
  const Ints bits = as_ints(value);
  const Ints nearest = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  const Ints nan = (bits & 0x7fffffff) > 0x7f800000;
  return __builtin_convertvector((nearest & ~nan) | (nan & 0x7fff), Halves);
}

template <typename Form>
BIGBIRD_INLINE Floats activated(const float*, Floats x) {
  return x * Form::gate(x);
}
template <typename Form>
BIGBIRD_INLINE Halves activated(const bf16*, Floats x) {
  return narrowed(x * Form::rough_gate(x));
}

template <typename Form, typename Element>
BIGBIRD_INLINE void add_bias_activation_of(const float* x, const float* bias, float* pre, Element* y,
                                           Index count) {
  for_each_vector(count, [&](Index i, auto part) {
    Floats value = part.get(x + i);
    if (bias != nullptr) value += part.get(bias + i);
    if (pre != nullptr) part.put(pre + i, value);
    part.put(y + i, activated<Form>(y, value));
  });
}

template <typename Form>
BIGBIRD_INLINE void activation_backward_of(const float* pre, const float* dy, float* dx, Index count) {
  for_each_vector(count, [&](Index i, auto part) {
    part.put(dx + i, part.get(dy + i) * Form::derivative(part.get(pre + i)));
  });
}

BIGBIRD_INLINE Floats tanh(Floats x) {
  const Floats magnitude = x < Floats{} ? -x : x;
  // Near zero 1 - 2 / (e^2x + 1) would cancel; the odd polynomial is Cephes tanhf.
  const Floats square = x * x;
  Floats p = splat(-5.70498872745e-3f);
  p = p * square + splat(2.06390887954e-2f);
  p = p * square + splat(-5.37397155531e-2f);
  p = p * square + splat(1.33314422036e-1f);
  p = p * square + splat(-3.33332819422e-1f);
  const Floats near_zero = p * square * x + x;
  const Floats far = splat(1.0f) - splat(2.0f) / (exp(magnitude + magnitude) + splat(1.0f));
  const Floats far_signed = x < Floats{} ? -far : far;
  return magnitude < splat(0.625f) ? near_zero : far_signed;
}

}  // namespace

void layernorm_row(const float* x, const float* gamma, const float* beta, float epsilon, float* y,
                   float* mean, float* rstd, Index width) {
  RowSum sum;
  for_each_vector(width, [&](Index i, auto part) { sum.add(part.get(x + i)); });
  const float average = sum.total() / static_cast<float>(width);
  RowSum squares;
  for (Index i = 0; i + lanes <= width; i += lanes) {
    const Floats difference = load(x + i) - splat(average);
    squares.add(difference * difference);
  }
  float variance = squares.total();
  for (Index i = width / lanes * lanes; i < width; ++i) variance += (x[i] - average) * (x[i] - average);
  variance /= static_cast<float>(width);
  const float inverse = 1.0f / __builtin_sqrtf(variance + epsilon);
  for_each_vector(width, [&](Index i, auto part) {
    part.put(y + i,
             (part.get(x + i) - splat(average)) * splat(inverse) * part.get(gamma + i) + part.get(beta + i));
  });
  if (mean != nullptr) *mean = average;
  if (rstd != nullptr) *rstd = inverse;
}

void layernorm_backward_row(const float* dy, const float* x, const float* gamma, float mean, float rstd,
                            float* dx, bool accumulate, float* dgamma, float* dbeta, Index width) {
  RowSum sum_dy;
  RowSum sum_dy_x;
  for_each_vector(width, [&](Index i, auto part) {
    const Floats gradient = part.get(dy + i);
    const Floats normal = (part.get(x + i) - splat(mean)) * splat(rstd);
    part.put(dgamma + i, part.get(dgamma + i) + gradient * normal);
    part.put(dbeta + i, part.get(dbeta + i) + gradient);
    const Floats scaled = gradient * part.get(gamma + i);
    sum_dy.add(scaled);
    sum_dy_x.add(scaled * normal);  // missing lanes: scaled is zero
  });
  const float mean_dy = sum_dy.total() / static_cast<float>(width);
  const float mean_dy_x = sum_dy_x.total() / static_cast<float>(width);
  for_each_vector(width, [&](Index i, auto part) {
    const Floats normal = (part.get(x + i) - splat(mean)) * splat(rstd);
    const Floats scaled = part.get(dy + i) * part.get(gamma + i);
    const Floats value = (scaled - splat(mean_dy) - normal * splat(mean_dy_x)) * splat(rstd);
    part.put(dx + i, accumulate ? part.get(dx + i) + value : value);
  });
}

void sum_of_three(const float* a, float scale, const float* b, const float* c, float* y, Index count) {
  for_each_vector(count, [&](Index i, auto part) {
    Floats sum = part.get(a + i) * splat(scale);
    if (b != nullptr) sum += part.get(b + i);
    if (c != nullptr) sum += part.get(c + i);
    part.put(y + i, sum);
  });
}

void add_scaled(const float* x, float scale, float* y, Index count) {
  for_each_vector(
      count, [&](Index i, auto part) { part.put(y + i, part.get(y + i) + part.get(x + i) * splat(scale)); });
}

void narrow(const float* x, const float* bias, bf16* y, Index count) {
  for_each_vector(count, [&](Index j, auto part) {
    const Floats sum = bias == nullptr ? part.get(x + j) : part.get(x + j) + part.get(bias + j);
    part.put(y + j, narrowed(sum));
  });
}

void widen(const bf16* x, float* y, Index count) {
  for_each_vector(count, [&](Index j, auto part) { part.put(y + j, widened(part.get(x + j))); });
}

void add_column_sums(const float* x, Index rows, Index stride, float* sums, Index width) {
  // Sums of 64 rows first: the rounding error then grows with rows / 64 + 64, not with rows.
  constexpr Index group = 64;
  for_each_vector(width, [&](Index j, auto part) {
    Floats total = {};
    for (Index first = 0; first < rows; first += group) {
      const Index last = first + group < rows ? first + group : rows;
      Floats sum = {};
      for (Index row = first; row < last; ++row) sum += part.get(x + row * stride + j);
      total += sum;
    }
    part.put(sums + j, part.get(sums + j) + total);
  });
}

template <typename Element>
static void choose_activation(const float* x, const float* bias, float* pre, Element* y, Index count,
                              Activation activation) {
  switch (activation) {
    case Activation::gelu_tanh:
      return add_bias_activation_of<TanhGelu>(x, bias, pre, y, count);
    case Activation::gelu_erf:
      return add_bias_activation_of<ErfGelu>(x, bias, pre, y, count);
    case Activation::relu:
      return add_bias_activation_of<Relu>(x, bias, pre, y, count);
    case Activation::silu:
      return add_bias_activation_of<Silu>(x, bias, pre, y, count);
  }
}

void add_bias_activation(const float* x, const float* bias, float* pre, float* y, Index count,
                         Activation activation) {
  choose_activation(x, bias, pre, y, count, activation);
}

void add_bias_activation_narrow(const float* x, const float* bias, float* pre, bf16* y, Index count,
                                Activation activation) {
  choose_activation(x, bias, pre, y, count, activation);
}

void activation_backward(const float* pre, const float* dy, float* dx, Index count, Activation activation) {
  switch (activation) {
    case Activation::gelu_tanh:
      return activation_backward_of<TanhGelu>(pre, dy, dx, count);
    case Activation::gelu_erf:
      return activation_backward_of<ErfGelu>(pre, dy, dx, count);
    case Activation::relu:
      return activation_backward_of<Relu>(pre, dy, dx, count);
    case Activation::silu:
      return activation_backward_of<Silu>(pre, dy, dx, count);
  }
}

void multiply(const float* a, const float* b, float* y, Index count) {
  for_each_vector(count, [&](Index i, auto part) { part.put(y + i, part.get(a + i) * part.get(b + i)); });
}

void tanh_forward(const float* x, float* y, Index count) {
  for_each_vector(count, [&](Index i, auto part) { part.put(y + i, tanh(part.get(x + i))); });
}

void tanh_backward(const float* y, const float* dy, float* dx, Index count) {
  for_each_vector(count, [&](Index i, auto part) {
    const Floats value = part.get(y + i);
    part.put(dx + i, part.get(dy + i) * (splat(1.0f) - value * value));
  });
}

void rotate_row(float* x, const float* rotations, Index heads, Index head_size, Index half, bool back) {
  const Floats direction = splat(back ? -1.0f : 1.0f);
  for_each_vector(half, [&](Index i, auto part) {
    const Floats cosine = part.get(rotations + i);
    const Floats sine = part.get(rotations + half + i) * direction;
    for (Index head = 0; head < heads; ++head) {
      float* const first = x + head * head_size + i;
      float* const second = first + half;
      const Floats a = part.get(first), b = part.get(second);
      part.put(first, a * cosine - b * sine);
      part.put(second, b * cosine + a * sine);
    }
  });
}

void softmax_statistics(const float* x, Index count, float* largest, Index* index, float* sum) {
  Floats best = splat(x[0]);
  Index i = 0;
  for (; i + lanes <= count; i += lanes) best = larger(load(x + i), best);
  float top = largest_of_lanes(best);
  for (; i < count; ++i) top = x[i] > top ? x[i] : top;
  *largest = top;
  *index = 0;
  for (i = 0; i < count; ++i) {
    if (x[i] == top) {
      *index = i;
      break;
    }
  }
  Floats sums[4] = {};
  i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    BIGBIRD_UNROLL
    for (int j = 0; j < 4; ++j) sums[j] += exp(load(x + i + j * lanes) - splat(top));
  }
  float total = sum_of_lanes((sums[0] + sums[1]) + (sums[2] + sums[3]));
  for (; i < count; i += lanes) {
    const Index left = count - i < lanes ? count - i : lanes;
    const Floats value = exp((left == lanes ? load(x + i) : load_part(x + i, left)) - splat(top));
    for (Index lane = 0; lane < left; ++lane) total += value[lane];
  }
  *sum = total;
}

void exp_scaled(const float* x, float shift, float scale, float* y, Index count) {
  for_each_vector(count, [&](Index i, auto part) {
    part.put(y + i, exp(part.get(x + i) - splat(shift)) * splat(scale));
  });
}

// Eight floats at a time, as doubles. By reference, for levels without registers that wide.
constexpr Index eight = 8;
typedef double EightDoubles __attribute__((vector_size(64)));
typedef float EightFloats __attribute__((vector_size(32)));

BIGBIRD_INLINE void load_eight(const float* from, EightFloats& value) {
  __builtin_memcpy(&value, from, sizeof value);
}

BIGBIRD_INLINE double sum_of_eight(const EightDoubles& value) {
  double total = 0.0;
  for (Index lane = 0; lane < eight; ++lane) total += value[lane];
  return total;
}

// The sum of term(x[i]), in an order of the count alone. term() takes vectors of doubles and single ones, and
// changes them in place.
template <typename Term>
BIGBIRD_INLINE double sum_in_double(const float* x, Index count, Term term) {
  EightDoubles sums[4] = {};
  Index i = 0;
  for (; i + 4 * eight <= count; i += 4 * eight) {
    BIGBIRD_UNROLL
    for (int j = 0; j < 4; ++j) {
      EightFloats part;
      load_eight(x + i + j * eight, part);
      EightDoubles value = __builtin_convertvector(part, EightDoubles);
      term(value);
      sums[j] += value;
    }
  }
  double total = sum_of_eight((sums[0] + sums[1]) + (sums[2] + sums[3]));
  for (; i < count; ++i) {
    double value = static_cast<double>(x[i]);
    term(value);
    total += value;
  }
  return total;
}

double sum(const float* x, Index count) {
  return sum_in_double(x, count, [](auto&) {});
}

double sum_of_squares(const float* x, Index count) {
  return sum_in_double(x, count, [](auto& value) { value *= value; });
}

void adamw(float* p, const float* g, float* m, float* v, Index count, const AdamWConstants& constants) {
  const AdamWConstants c = constants;
  for (Index i = 0; i < count; ++i) {
    const float gradient = g[i] * c.gradient_scale;
    const float first = c.beta1 * m[i] + c.one_minus_beta1 * gradient;
    const float second = c.beta2 * v[i] + c.one_minus_beta2 * gradient * gradient;
    m[i] = first;
    v[i] = second;
    const float denominator = __builtin_sqrtf(second * c.inverse_correction2) + c.epsilon;
    p[i] -= c.step_size * first / denominator + c.decay * p[i];
  }
}

// The update of LAMB, of moments that are new.
BIGBIRD_INLINE float lamb_update(float p, float m, float v, const AdamWConstants& c) {
  return m / (__builtin_sqrtf(v) + c.epsilon) + c.decay * p;
}

LambSquares lamb_moments(const float* p, const float* g, float* m, float* v, Index count,
                         const AdamWConstants& constants) {
  const AdamWConstants c = constants;
  constexpr Index most = 512;  // updates that are kept until they are summed
  float updates[most];
  LambSquares squares;
  for (Index i = 0; i < count; i += most) {
    const Index here = count - i < most ? count - i : most;
    for (Index j = 0; j < here; ++j) {
      const float gradient = g[i + j] * c.gradient_scale;
      const float first = c.beta1 * m[i + j] + c.one_minus_beta1 * gradient;
      const float second = c.beta2 * v[i + j] + c.one_minus_beta2 * gradient * gradient;
      m[i + j] = first;
      v[i + j] = second;
      updates[j] = lamb_update(p[i + j], first, second, c);
    }
    squares.parameter += sum_of_squares(p + i, here);
    squares.update += sum_of_squares(updates, here);
  }
  return squares;
}

void lamb_move(float* p, const float* m, const float* v, Index count, const AdamWConstants& constants,
               float rate) {
  const AdamWConstants c = constants;
  for (Index i = 0; i < count; ++i) p[i] -= rate * lamb_update(p[i], m[i], v[i], c);
}

double add_squares(const float* g, float scale, double* sums, Index count) {
  EightDoubles all[2] = {};
  Index i = 0;
  for (; i + 2 * eight <= count; i += 2 * eight) {
    BIGBIRD_UNROLL
    for (int j = 0; j < 2; ++j) {
      double* const to = sums + i + j * eight;
      EightFloats part;
      load_eight(g + i + j * eight, part);
      const EightDoubles value = __builtin_convertvector(part * scale, EightDoubles);
      const EightDoubles square = value * value;
      EightDoubles there;
      __builtin_memcpy(&there, to, sizeof there);
      there += square;
      __builtin_memcpy(to, &there, sizeof there);
      all[j] += square;
    }
  }
  double total = sum_of_eight(all[0] + all[1]);
  for (; i < count; ++i) {
    const double value = static_cast<double>(g[i] * scale);
    sums[i] += value * value;
    total += value * value;
  }
  return total;
}

// g * row comes first: where a row or a column had no gradient at all, its factor is 1e15, and a zero stays
// zero.
double factored_squares(const float* g, float row, const float* columns, Index count) {
  EightDoubles sums[4] = {};
  Index i = 0;
  for (; i + 4 * eight <= count; i += 4 * eight) {
    BIGBIRD_UNROLL
    for (int j = 0; j < 4; ++j) {
      EightFloats part, column;
      load_eight(g + i + j * eight, part);
      load_eight(columns + i + j * eight, column);
      const EightDoubles value = __builtin_convertvector(part * row * column, EightDoubles);
      sums[j] += value * value;
    }
  }
  double total = sum_of_eight((sums[0] + sums[1]) + (sums[2] + sums[3]));
  for (; i < count; ++i) {
    const double value = static_cast<double>(g[i] * row * columns[i]);
    total += value * value;
  }
  return total;
}

void factored_update(float* p, const float* g, float row, const float* columns, float step, Index count) {
  for (Index i = 0; i < count; ++i) p[i] -= step * (g[i] * row * columns[i]);
}

// Masks are those of philox.h (dropout_keep), many counters at a time.
void dropout(const float* x, const float* residual, float* y, Index count, uint64_t first, float probability,
             uint64_t seed, uint64_t site) {
  if (probability <= 0.0f) {
    if (residual == nullptr) {
      if (y != x) __builtin_memcpy(y, x, static_cast<uint64_t>(count) * sizeof(float));
    } else {
      for (Index i = 0; i < count; ++i) y[i] = residual[i] + x[i];
    }
    return;
  }
  const float scale = 1.0f / (1.0f - probability);
  const uint32_t threshold = keep_threshold(probability);
  constexpr Index step = 4 * lanes;  // elements of one call
  float factor[step];
  for (Index i = 0; i < count; i += step) {
    const PhiloxLanes bits = philox_lanes(seed, (first + static_cast<uint64_t>(i)) >> 2, site);
    for (Index lane = 0; lane < lanes; ++lane) {
      BIGBIRD_UNROLL
      for (int word = 0; word < 4; ++word) {
        factor[4 * lane + word] = (bits.word[word][lane] >> 8) >= threshold ? scale : 0.0f;
      }
    }
    const Index here = count - i < step ? count - i : step;
    if (residual == nullptr) {
      for (Index j = 0; j < here; ++j) y[i + j] = x[i + j] * factor[j];
    } else {
      for (Index j = 0; j < here; ++j) y[i + j] = residual[i + j] + x[i + j] * factor[j];
    }
  }
}

}  // namespace bigbird::kernels::BIGBIRD_LEVEL
