import { Type, type Static } from 'typebox';
import { Erasure } from '../catalogue/records.ts';
import { Time, Uuid } from './fields/values.ts';

export const OrganisationPath = Type.Object({ org_id: Uuid });

export const EraseQuery = Type.Object({
  name: Type.String({
    minLength: 1,
    maxLength: 128,
    description: 'The name of the organisation, so that no other one is erased by mistake.',
  }),
});

export const OrganisationTombstone = Type.Object(
  {
    org_id: Uuid,
    requested_at: Time,
    requested_by: Type.Object(
      { org_id: Uuid, user_id: Uuid, key_id: Uuid },
      { description: 'The API key of the operator.' },
    ),
    state: Type.Enum(['erasing', 'erased'], {
      description:
        '`erased`: twice, with ten minutes between, nothing was left but the facts of runs, which leave the log with its age.',
    }),
    erased_at: Type.Union([Time, Type.Null()], { description: 'Null while the state is `erasing`.' }),
    erases: Type.Object(Erasure.properties.erases.properties, {
      description:
        'What was erased so far: API keys, runs, and files that clients had uploaded. What a gateway erased before it was killed may be missing.',
    }),
  },
  { title: 'OrganisationTombstone' },
);
export type OrganisationTombstone = Static<typeof OrganisationTombstone>;
