import type { Static } from 'typebox';
import type { KeyScope, OrganisationScope } from '../catalogue/records.ts';
import { enumInWords } from '../words/in-words.ts';

/** What a member of an organisation may do. */
export const Role = enumInWords(
  {
    owner: 'Everything, also members and invitations.',
    developer: 'Reads, and queues, cancels and repeats runs.',
    viewer: 'Reads.',
  },
  { description: 'What the member may do.' },
);
export type Role = Static<typeof Role>;

const SCOPES: Readonly<Record<Role, OrganisationScope>> = {
  owner: 'admin',
  developer: 'runs:write',
  viewer: 'runs:read',
};

/** The scopes of a session of a member. */
export const scopesOfMember = ({
  role,
  operator,
}: {
  readonly role: Role;
  /** Runs the installation too. */
  readonly operator: boolean;
}): KeyScope[] => [SCOPES[role], ...(operator ? (['operator'] as const) : [])];
