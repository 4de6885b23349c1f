import { Type } from 'typebox';

export const MIN_WEIGHT = 0.001;
export const MAX_WEIGHT = 1_000;

/** A part of the slots, beside the weights of the others. */
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
