import { Type, type Static } from 'typebox';

const GPU_MODEL_PATTERN = '^[A-Z0-9][A-Z0-9._-]{0,39}$';

/**
 * A GPU model: any name, by which runs find their slots. It is accepted in either case and always written in upper
 * case, so `rtx4090` and `RTX4090` are one model. It is part of no subject and of no key.
 */
export const GpuModel = Type.Unsafe<Uppercase<string>>(
  Type.String({
    pattern: GPU_MODEL_PATTERN,
    description: 'A GPU model, in upper case; `CPU` for a slot without a card.',
    examples: ['A10G'],
  }),
);
export type GpuModel = Static<typeof GpuModel>;

/** What the pattern says, for people. */
export const GPU_MODEL_RULE =
  '1 to 40 letters (A to Z), digits, dots, hyphens and underscores, beginning with a letter or a digit';

/** The model of slots that use no card. */
export const CPU: GpuModel = 'CPU';

const MODEL = new RegExp(GPU_MODEL_PATTERN);
const isGpuModel = (text: string): text is GpuModel => MODEL.test(text);

/** The model of this name, in either case; undefined for a text that is no name of a model. */
export const parseGpuModel = (name: string): GpuModel | undefined => {
  const model = name.toUpperCase();
  return isGpuModel(model) ? model : undefined;
};

/** @throws TypeError when the text is no name of a model. */
export const gpuModel = (name: string): GpuModel => {
  const model = parseGpuModel(name);
  if (model === undefined) throw new TypeError(`"${name}" is not a GPU model: ${GPU_MODEL_RULE}`);
  return model;
};

/** A GPU model in a request. Responses write it in upper case. */
export const GpuName = Type.String({
  pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,39}$',
  description: 'A GPU model, in either case.',
  examples: ['RTX4090'],
  'x-refusal': {
    type: 'string_pattern_mismatch',
    msg: `Send the name of a GPU model, such as RTX4090: ${GPU_MODEL_RULE}`,
  },
});
