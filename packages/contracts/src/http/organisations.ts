import { Type, type Static } from 'typebox';
import type { Erasure } from '../catalogue/records.ts';
import { enumInWords } from '../words/in-words.ts';
import { KeyUuid, OrganisationUuid, UserUuid } from './fields/ids.ts';
import { nullable } from './fields/optional.ts';
import { time } from './fields/values.ts';

const Organisation = { ...OrganisationUuid, description: 'The id of the organisation.' };

const count = (what: string, example: number) =>
  Type.Integer({
    minimum: 0,
    description: `The number of ${what} that were erased.`,
    examples: [example],
  });

export const OrganisationPath = Type.Object({ org_id: Organisation });

export const EraseQuery = Type.Object({
  name: Type.String({
    minLength: 1,
    maxLength: 128,
    examples: ['example'],
    description: 'The name of the organisation, so that no other one is erased by mistake.',
  }),
});

const ERASED = {
  keys: count('API keys', 12),
  runs: count('runs', 4711),
  files: count('files that clients had uploaded', 3),
} satisfies Record<keyof Erasure['erases'], Type.TInteger>;

export const OrganisationTombstone = Type.Object(
  {
    org_id: Organisation,
    requested_at: time('When the erasure was requested.'),
    requested_by: Type.Object(
      {
        org_id: { ...OrganisationUuid, description: 'The organisation of the key.' },
        user_id: { ...UserUuid, description: 'The user of the key.' },
        key_id: KeyUuid,
      },
      { description: 'The API key of the operator who requested it.' },
    ),
    state: enumInWords(
      {
        erasing: 'Something of it is still to be erased.',
        erased:
          'Twice, with ten minutes between, nothing was left but the facts of runs, which leave the log with its age.',
      },
      { description: 'Whether everything is erased.' },
    ),
    erased_at: nullable(
      time('When nothing was left for the second time.'),
      'Null while the state is `erasing`.',
    ),
    erases: Type.Object(ERASED, {
      description: 'What was erased so far. What a gateway erased before it was killed may be missing.',
    }),
  },
  { title: 'OrganisationTombstone', description: 'What is left of an erased organisation.' },
);
export type OrganisationTombstone = Static<typeof OrganisationTombstone>;
