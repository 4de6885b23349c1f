import { Type, type Static } from 'typebox';
import { GpuModel } from './gpu.ts';
import { MAX_DEADLINE_S } from './limits.ts';

export const MIN_WEIGHT = 0.001;
export const MAX_WEIGHT = 1_000;

/** A part of the slots, beside the weights of the others. */
/** The most slots that a deployment has kept ready. */
export const MAX_KEEP_SLOTS = 64;
export const KeepSlots = Type.Integer({ minimum: 0, maximum: MAX_KEEP_SLOTS });

export const Weight = Type.Number({ minimum: MIN_WEIGHT, maximum: MAX_WEIGHT, examples: [1] });

export const MIN_PRIORITY = -100;
export const MAX_PRIORITY = 100;

/** A higher one starts earlier. */
export const Priority = Type.Integer({ minimum: MIN_PRIORITY, maximum: MAX_PRIORITY, examples: [5] });

/** Of the priorities of a deployment's runs: 0, which a run without one has, is always within them. */
export const LowestPriority = Type.Integer({ minimum: MIN_PRIORITY, maximum: 0, examples: [-10] });
export const HighestPriority = Type.Integer({ minimum: 0, maximum: MAX_PRIORITY, examples: [10] });

/** Runs of a deployment with the same key execute one at a time. */
export const ConcurrencyKey = Type.String({ pattern: '^[\\x20-\\x7e]{1,64}$', examples: ['user-17'] });

/** The head start of a run before the others of its deployment, in seconds for each step of priority. */
export const PRIORITY_STEP_S = 60;

/** The most GPU models that a run may be placed on. */
export const MAX_GPUS = 8;

/** After so many seconds of waiting the run may also take a slot of this model; 0 for at once. */
export const GpuFallback = Type.Object({
  gpu: GpuModel,
  after_s: Type.Number({
    minimum: 0,
    maximum: MAX_DEADLINE_S,
    description: 'Seconds of waiting after which the run may take a slot of this model; 0 for at once.',
    examples: [60],
  }),
});
export type GpuFallback = Static<typeof GpuFallback>;

/** In order: an earlier one is preferred, and no later one has a shorter time. None is the first model, or there twice. */
export const GpuFallbacks = Type.Array(GpuFallback, { minItems: 1, maxItems: MAX_GPUS - 1 });

const LABEL_PATTERN = '^(?=.{1,63}$)[A-Za-z0-9][A-Za-z0-9._/-]*(:[A-Za-z0-9._/-]+)?$';

/** What an operator says about an executor, and a deployment asks for: a name, or a name and a value, such as `zone:eu-west-1`. */
export const Label = Type.String({
  pattern: LABEL_PATTERN,
  description: 'What an operator says about an executor.',
  examples: ['zone:eu-west-1'],
});

/** What the pattern says, for people. */
export const LABEL_RULE =
  '1 to 63 letters, digits, dots, hyphens, underscores and slashes, beginning with a letter or a digit; a colon may separate a name from its value';

const LABEL = new RegExp(LABEL_PATTERN);
export const isLabel = (text: string): boolean => LABEL.test(text);

/** Of one executor. */
export const MAX_EXECUTOR_LABELS = 64;
/** That one deployment asks for. */
export const MAX_REQUIRED_LABELS = 8;

/** Those that an executor must have, all of them. */
export const RequiredLabels = Type.Array(Label, { minItems: 1, maxItems: MAX_REQUIRED_LABELS });

/** Of one tag, in a pattern. */
const CHARACTERS = '[A-Za-z0-9_.:/-]{1,64}';

/** What a client calls a run by, beside its id, such as `customer:17`. Every tag fits into an address and a comma-separated list as it is. */
export const Tag = Type.String({
  pattern: `^${CHARACTERS}$`,
  description: 'Your own word for runs.',
  examples: ['customer:17'],
});

/** What the pattern says, for people. */
export const TAG_RULE = 'A tag has 1 to 64 letters, digits and characters of _ - . : /';

/** Of one run. */
export const MAX_TAGS = 16;

/** Tags in a text, with commas. */
export const TAGS_PATTERN = `^ *${CHARACTERS} *(?:, *${CHARACTERS} *){0,${MAX_TAGS - 1}}$`;
