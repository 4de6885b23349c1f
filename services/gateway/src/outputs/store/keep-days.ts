import { Type } from 'typebox';

export const DAY_MS = 86_400_000;

/** Of stores that let files expire themselves. */
export const keepDaysConfig = {
  RUNLEDGER_OUTPUTS_KEEP_DAYS: Type.Integer({
    minimum: 1,
    maximum: 10_000,
    default: 90,
    description: 'with RUNLEDGER_OUTPUTS=directory or s3: days for which an output file is kept',
  }),
};
