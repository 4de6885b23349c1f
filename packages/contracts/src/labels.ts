import { Type } from 'typebox';

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
