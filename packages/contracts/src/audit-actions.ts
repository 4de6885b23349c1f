import { enumInWords } from './schemas.ts';

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

interface DescribedAction {
  readonly means: string;
  /** Where its outcome is kept, and so whether it is about rights or is only recorded. */
  readonly ring: AuditRing;
  /**
   * What happens when its record cannot be stored. `refused`: it is not done. `done`: it is done, and the service's log has the record as
   * an error: it takes rights or data away, and must be possible in an emergency.
   */
  readonly withoutRecord: 'refused' | 'done';
}

const refused = (ring: AuditRing, means: string): DescribedAction => ({
  means,
  ring,
  withoutRecord: 'refused',
});
const done = (ring: AuditRing, means: string): DescribedAction => ({ means, ring, withoutRecord: 'done' });

/** Closed: what somebody did that an auditor may ask about. `<kind of the target>.<what was done>`. */
export const AUDIT_ACTIONS = {
  'key.created': refused('given', 'An API key was made. The record has its scopes, its user and its expiry.'),
  'key.revoked': done(
    'taken',
    'An API key was revoked, with the keys below it unless the record says otherwise.',
  ),
  'session.created': refused('sign_ins', 'A person signed in. The record has in which way.'),
  'session.ended': done('sign_ins', 'A person signed out.'),
  'session.refused': done('refusals', 'Sign-ins were refused: how many in about a minute, from one network.'),
  'link.created': refused('given', 'An operator made a link that signs a person in, once.'),
  'identity.linked': refused(
    'joined',
    'A person signed in with the OpenID Connect provider for the first time. The record has whether a password was removed, which somebody else may have chosen.',
  ),
  'password.changed': refused('passwords', 'A person chose a password. Their other sessions ended.'),
  'member.added': refused('joined', 'A person became a member of the organisation. The record has the role.'),
  'member.changed': refused(
    'given',
    'The role of a member was changed, or whether the member is an operator.',
  ),
  'member.removed': done(
    'taken',
    'A person is no member of the organisation any more. Their API keys of it were revoked.',
  ),
  'invitation.created': refused('given', 'A person was invited. The record has the role.'),
  'invitation.accepted': refused('joined', 'A person accepted an invitation.'),
  'invitation.revoked': done('taken', 'An invitation was revoked.'),
  'secret.read': refused('secrets', "The organisation's signing secret was shown."),
  'secret.rotated': refused('given', "The organisation's signing secret was replaced."),
  'machine.created': refused('work', 'A machine was created.'),
  'machine.changed': refused('work', 'A machine was changed, archived or restored.'),
  'machine.deleted': done('work', 'A machine was deleted.'),
  'workflow.created': refused('work', 'A workflow was created.'),
  'workflow.changed': refused('work', 'A workflow was changed, archived or restored.'),
  'workflow.deleted': done('work', 'A workflow was deleted.'),
  'workflow_version.created': refused('work', 'A workflow version was created.'),
  'workflow_version.changed': refused('work', 'A workflow version was archived or restored.'),
  'workflow_version.deleted': done('work', 'A workflow version was deleted.'),
  'deployment.created': refused('work', 'A deployment was created.'),
  'deployment.changed': refused('work', 'A deployment was changed, archived or restored.'),
  'deployment.deleted': done('work', 'A deployment was deleted.'),
  'schedule.created': refused('work', 'A schedule was created.'),
  'schedule.changed': refused('work', 'A schedule was changed, paused or resumed.'),
  'schedule.deleted': done('work', 'A schedule was deleted.'),
  'organisation_secret.set': refused('work', 'The value of a secret of the organisation was set.'),
  'organisation_secret.removed': done('work', 'A secret of the organisation was removed.'),
  'retention.changed': refused('work', 'The organisation chose for how long its runs are kept.'),
  'run.cancelled': done('work', 'A key of another user than that of the run asked to cancel it.'),
  'runs.cancelled': done('work', 'Many runs were cancelled by a filter. The record has how many.'),
  'runs.rerun': refused('work', 'Many runs were queued again by a filter. The record has how many.'),
  'run.deleted': done('work', 'A run was deleted, with its files.'),
  'run.outputs_deleted': done('work', 'The outputs of a run were deleted.'),
  'file.deleted': done('work', 'A file that a client had uploaded was deleted.'),
  'executor.drained': done('work', 'An operator drained an executor.'),
  'executor.resumed': refused('work', 'An operator resumed an executor.'),
  'sealed_values.resealed': refused('work', 'Up to 100 sealed values were sealed with the sealing key.'),
  'organisation.created': refused('given', 'An organisation was created, with its first key.'),
  'organisation.erased': done(
    'taken',
    'The erasure of an organisation was requested. Its tombstone says when it is complete.',
  ),
  'log.provisioned': done('work', 'The streams of the log were created, or brought to their settings.'),
  'dead_letter.redriven': done('work', 'An operator had dead letters handled again.'),
  'dead_letter.removed': done('work', 'An operator removed a dead letter. Its message stays in its stream.'),
  'views.rebuilt': done('work', 'An operator had the views of runs built again from the log.'),
  'credential.refused': done(
    'refusals',
    'Requests without a valid credential, or with a key that lacks the scope, were refused: how many in about a minute, from one network.',
  ),
} as const satisfies Readonly<Record<string, DescribedAction>>;

export type AuditAction = keyof typeof AUDIT_ACTIONS;

// The keys of the table are the actions.
const MEANINGS = Object.fromEntries(
  Object.entries(AUDIT_ACTIONS).map(([action, { means }]) => [action, means]),
) as Record<AuditAction, string>;

export const AuditAction = enumInWords(MEANINGS, { description: 'What was done.' });
