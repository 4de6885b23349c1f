interface DescribedRing {
  /** `rights`: who may do what. `work`: all else, which is only recorded. */
  readonly about: 'rights' | 'work';
  readonly means: string;
  /** Who repeats such an action without end waits, before a record leaves that is younger than a week. */
  readonly hasReserve?: true;
}

/**
 * Where records are kept: each organisation has each ring, of a fixed number of records. The next one makes the oldest of the same ring
 * and the same organisation leave, and no other.
 */
export const AUDIT_RINGS = {
  given: {
    about: 'rights',
    means: 'Rights that were given: keys, invitations, links, roles, a new signing secret.',
    hasReserve: true,
  },
  passwords: { about: 'rights', means: 'Passwords that people chose.', hasReserve: true },
  secrets: { about: 'rights', means: 'Looks at the signing secret.', hasReserve: true },
  joined: { about: 'rights', means: 'People who joined, and identities that were linked.' },
  taken: { about: 'rights', means: 'Rights that were taken.' },
  sign_ins: { about: 'rights', means: 'Sign-ins and sign-outs.' },
  requests: {
    about: 'work',
    means:
      'What was asked for about rights: the records `requested`, and the outcome `refused`. Anybody may ask for what they do not get, so these do not use up what is kept of rights.',
  },
  work: { about: 'work', means: 'Everything else that was done.' },
  refusals: { about: 'work', means: 'Refused credentials and sign-ins.' },
} as const satisfies Readonly<Record<string, DescribedRing>>;

export type AuditRing = keyof typeof AUDIT_RINGS;

const isRing = (name: string): name is AuditRing => Object.hasOwn(AUDIT_RINGS, name);
export const AUDIT_RING_NAMES: readonly AuditRing[] = Object.keys(AUDIT_RINGS).filter(isRing);

/** Records about rights have a stream of their own, so that nothing else can use its room. */
export const AUDIT_STREAMS = ['AUDIT', 'AUDIT_RIGHTS'] as const;
export type AuditStream = (typeof AUDIT_STREAMS)[number];

export const auditStreamOf = (ring: AuditRing): AuditStream =>
  AUDIT_RINGS[ring].about === 'rights' ? 'AUDIT_RIGHTS' : 'AUDIT';

export const ringsIn = (stream: AuditStream): readonly AuditRing[] =>
  AUDIT_RING_NAMES.filter((ring) => auditStreamOf(ring) === stream);

/** For how long a record of a ring with a reserve stays in any case. */
export const RESERVE_AGE_MS = 7 * 86_400_000;
