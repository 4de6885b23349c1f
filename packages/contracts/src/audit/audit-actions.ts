import { enumInWords } from '../words/in-words.ts';

interface DescribedAction {
  readonly means: string;
  /**
   * What happens when its record cannot be stored. `refused`: it is not done. `done`: it is done, and the service's log has the record as
   * an error: it takes rights or data away, and must be possible in an emergency.
   */
  readonly withoutRecord: 'refused' | 'done';
}

const refused = (means: string): DescribedAction => ({ means, withoutRecord: 'refused' });
const done = (means: string): DescribedAction => ({ means, withoutRecord: 'done' });

/** Closed: what somebody did that an auditor may ask about. `<kind of the target>.<what was done>`, which are two tokens of a subject. */
export const AUDIT_ACTIONS = {
  'key.created': refused('An API key was made. The record has its scopes, its user and its expiry.'),
  'key.revoked': done('An API key was revoked, with the keys below it unless the record says otherwise.'),
  'session.created': refused('A person signed in. The record has in which way.'),
  'session.ended': done('A person signed out.'),
  'session.refused': done('Sign-ins were refused: how many in about a minute, from one network.'),
  'link.created': refused('An operator made a link that signs a person in, once.'),
  'identity.linked': refused(
    'A person signed in with the OpenID Connect provider for the first time. The record has whether a password was removed, which somebody else may have chosen.',
  ),
  'password.changed': refused('A person chose a password. Their other sessions ended.'),
  'member.added': refused('A person became a member of the organisation. The record has the role.'),
  'member.changed': refused('The role of a member was changed, or whether the member is an operator.'),
  'member.removed': done(
    'A person is no member of the organisation any more. Their API keys of it were revoked.',
  ),
  'invitation.created': refused('A person was invited. The record has the role.'),
  'invitation.accepted': refused('A person accepted an invitation.'),
  'invitation.revoked': done('An invitation was revoked.'),
  'secret.read': refused("The organisation's signing secret was shown."),
  'secret.rotated': refused("The organisation's signing secret was replaced."),
  'machine.created': refused('A machine was created.'),
  'machine.changed': refused('A machine was changed, archived or restored.'),
  'machine.deleted': done('A machine was deleted.'),
  'workflow.created': refused('A workflow was created.'),
  'workflow.changed': refused('A workflow was changed, archived or restored.'),
  'workflow.deleted': done('A workflow was deleted.'),
  'workflow_version.created': refused('A workflow version was created.'),
  'workflow_version.changed': refused('A workflow version was archived or restored.'),
  'workflow_version.deleted': done('A workflow version was deleted.'),
  'deployment.created': refused('A deployment was created.'),
  'deployment.changed': refused('A deployment was changed, archived or restored.'),
  'deployment.deleted': done('A deployment was deleted.'),
  'schedule.created': refused('A schedule was created.'),
  'schedule.changed': refused('A schedule was changed, paused or resumed.'),
  'schedule.deleted': done('A schedule was deleted.'),
  'retention.changed': refused('The organisation chose for how long its runs are kept.'),
  'run.cancelled': done('A key of another user than that of the run asked to cancel it.'),
  'runs.cancelled': done('Many runs were cancelled by a filter. The record has how many.'),
  'runs.rerun': refused('Many runs were queued again by a filter. The record has how many.'),
  'run.deleted': done('A run was deleted, with its files.'),
  'run.outputs_deleted': done('The outputs of a run were deleted.'),
  'file.deleted': done('A file that a client had uploaded was deleted.'),
  'executor.drained': done('An operator drained an executor.'),
  'executor.resumed': refused('An operator resumed an executor.'),
  'sealed_values.resealed': refused('Up to 100 sealed values were sealed with the sealing key.'),
  'organisation.created': refused('An organisation was created, with its first key.'),
  'organisation.erased': done(
    'The erasure of an organisation was requested. Its tombstone says when it is complete.',
  ),
  'log.provisioned': done('The streams of the log were created, or brought to their settings.'),
  'dead_letter.redriven': done('An operator had dead letters handled again.'),
  'dead_letter.removed': done('An operator removed a dead letter. Its message stays in its stream.'),
  'views.rebuilt': done('An operator had the views of runs built again from the log.'),
  'credential.refused': done(
    'Requests without a valid credential, or with a key that lacks the scope, were refused: how many in about a minute, from one network.',
  ),
} as const satisfies Readonly<Record<string, DescribedAction>>;

export type AuditAction = keyof typeof AUDIT_ACTIONS;

// The keys of the table are the actions.
const MEANINGS = Object.fromEntries(
  Object.entries(AUDIT_ACTIONS).map(([action, { means }]) => [action, means]),
) as Record<AuditAction, string>;

export const AuditAction = enumInWords(MEANINGS, { description: 'What was done.' });
