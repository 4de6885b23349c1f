import type { Schemas } from '../api/schemas.ts';

export type Role = Schemas['Member']['role'];

/** What each role may do. */
export const ROLES: readonly { readonly role: Role; readonly words: string }[] = [
  { role: 'viewer', words: 'sees runs' },
  { role: 'developer', words: 'also queues, cancels and repeats runs' },
  { role: 'owner', words: 'also deploys, and manages keys and people' },
];
