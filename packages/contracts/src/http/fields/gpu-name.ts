import { Type } from 'typebox';
import { GPU_MODEL_RULE } from '../../gpu.ts';

/** A GPU model in a request. Responses write it in upper case. */
export const GpuName = Type.String({
  pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,39}$',
  description: 'A GPU model, in either case.',
  examples: ['RTX4090'],
  'x-refusal': {
    type: 'string_pattern_mismatch',
    msg: `Input should be the name of a GPU model, such as RTX4090: ${GPU_MODEL_RULE}`,
  },
});
