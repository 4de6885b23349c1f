import { Type, type Static } from 'typebox';
import { VARIABLE } from '../../catalogue/code.ts';
import { CreatedAt, time, UserUuid } from '../fields.ts';

/** In UTF-8. */
export const MAX_ORGANISATION_SECRET_BYTES = 32_768;

export const SecretName = Type.String({
  pattern: VARIABLE,
  description: 'Letters, digits and underscores, at most 128, with no digit at the begin.',
  examples: ['HF_TOKEN'],
  'x-refusal': {
    type: 'string_pattern_mismatch',
    msg: 'Send a name of letters, digits and underscores that begins with no digit, such as HF_TOKEN',
  },
});

/** Nobody is shown the value. */
export const Secret = Type.Object(
  {
    name: SecretName,
    created_at: CreatedAt,
    updated_at: time('When its value was set last.'),
    updated_by: { ...UserUuid, description: 'The id of the user who set its value last.' },
  },
  { title: 'Secret', description: 'A secret of the organisation, without its value, which nobody is shown.' },
);
export type Secret = Static<typeof Secret>;

export const SecretValue = Type.Object(
  {
    value: Type.String({
      minLength: 1,
      maxLength: MAX_ORGANISATION_SECRET_BYTES,
      pattern: '^[^\\u0000]*$',
      description:
        'A text of at most 32,768 bytes in UTF-8, without NUL. It is sealed before it is stored, and shown to nobody.',
      examples: ['hf_0123456789'],
      'x-refusal': {
        type: 'value_error',
        msg: 'Send a text of 1 to 32,768 bytes in UTF-8, without NUL',
      },
    }),
  },
  { title: 'SecretValue', description: 'The value of a secret.', examples: [{ value: 'hf_0123456789' }] },
);

export const SecretList = Type.Object(
  { secrets: Type.Array(Secret, { description: 'All of the organisation, by their names.' }) },
  { title: 'SecretList', description: 'The secrets of the organisation, without their values.' },
);

export const SecretPath = Type.Object({ name: SecretName });
