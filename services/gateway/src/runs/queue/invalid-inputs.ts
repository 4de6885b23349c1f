import { FILE_FORMS, FILE_LIST, ONE_FILE, type WrongInput } from '../../catalogue/core/input-values.ts';
import { invalid, type Invalid } from '../../http/refusal.ts';
import {
  aboveMaximum,
  belowMinimum,
  MISSING,
  notListed,
  tooFewItems,
  tooManyItems,
  wrongType,
  type Words,
} from '../../validation/pydantic-words.ts';

/** Inputs that do not fit their definitions, as a client sees it. */
export const invalidInputs = (wrong: readonly WrongInput[]): Invalid[] =>
  wrong.map((input) => {
    const { type, msg } = wordsOf(input);
    const item = input.kind === 'no_file' && input.item !== undefined ? [input.item] : [];
    return invalid(['body', 'inputs', input.name, ...item], type, msg);
  });

/** What is wrong with a file, and what to do. */
export const noFile = (why: string): Words => ({ type: 'value_error', msg: `Value error, ${why}` });

const wrongLength = (kind: 'too_short' | 'too_long', length: number): Words => ({
  type: `string_${kind}`,
  msg: `String should have at ${kind === 'too_short' ? 'least' : 'most'} ${length} characters`,
});

const wordsOf = (wrong: WrongInput): Words => {
  switch (wrong.kind) {
    case 'missing':
      return MISSING;
    case 'wrong_type':
      return wrongType({ schema: { type: wrong.type }, value: wrong.value, isText: false });
    case 'no_file':
      return noFile(FILE_FORMS);
    case 'one_file':
      return noFile(ONE_FILE);
    case 'file_list':
      return noFile(FILE_LIST);
    case 'too_few_items':
      return tooFewItems(wrong.limit, wrong.count);
    case 'too_many_items':
      return tooManyItems(wrong.limit, wrong.count);
    case 'not_listed':
      return notListed(wrong.values);
    case 'below_minimum':
      return belowMinimum(wrong.minimum);
    case 'above_maximum':
      return aboveMaximum(wrong.maximum);
    case 'too_short':
    case 'too_long':
      return wrongLength(wrong.kind, wrong.length);
  }
};
