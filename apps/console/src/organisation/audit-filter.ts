import type { Schemas } from '../api/schemas.ts';

export type Action = Schemas['AuditEntry']['action'];

/** What each action is, for people. */
export const ACTIONS: Readonly<Record<Action, string>> = {
  'key.created': 'made an API key',
  'key.revoked': 'revoked an API key',
  'session.created': 'signed in',
  'session.ended': 'signed out',
  'session.refused': 'was refused at the sign-in',
  'link.created': 'made a link that signs a person in',
  'identity.linked': 'signed in with the provider for the first time',
  'password.changed': 'chose a password',
  'member.added': 'added a member',
  'member.changed': 'changed the role of a member',
  'member.removed': 'removed a member',
  'invitation.created': 'invited a person',
  'invitation.accepted': 'accepted an invitation',
  'invitation.revoked': 'revoked an invitation',
  'secret.read': 'showed the signing secret',
  'secret.rotated': 'rotated the signing secret',
  'machine.created': 'created a machine',
  'machine.changed': 'changed a machine',
  'machine.deleted': 'deleted a machine',
  'workflow.created': 'created a workflow',
  'workflow.changed': 'changed a workflow',
  'workflow.deleted': 'deleted a workflow',
  'workflow_version.created': 'created a workflow version',
  'workflow_version.changed': 'archived or restored a workflow version',
  'workflow_version.deleted': 'deleted a workflow version',
  'deployment.created': 'created a deployment',
  'deployment.changed': 'changed a deployment',
  'deployment.deleted': 'deleted a deployment',
  'schedule.created': 'created a schedule',
  'schedule.changed': 'changed a schedule',
  'schedule.deleted': 'deleted a schedule',
  'organisation_secret.set': 'set a secret for programs',
  'organisation_secret.removed': 'removed a secret for programs',
  'retention.changed': 'changed how long runs are kept',
  'run.cancelled': "cancelled another user's run",
  'runs.cancelled': 'cancelled many runs',
  'runs.rerun': 'repeated many runs',
  'run.deleted': 'deleted a run',
  'run.outputs_deleted': 'deleted the outputs of a run',
  'file.deleted': 'deleted a file',
  'executor.drained': 'drained an executor',
  'executor.resumed': 'resumed an executor',
  'sealed_values.resealed': 'sealed values with the present key',
  'organisation.created': 'created an organisation',
  'organisation.erased': 'erased an organisation',
  'log.provisioned': 'prepared the streams of the log',
  'dead_letter.redriven': 'redrove dead letters',
  'dead_letter.removed': 'removed a dead letter',
  'views.rebuilt': 'rebuilt the run views',
  'credential.refused': 'was refused: no valid credential, or no right',
};

type Ring = NonNullable<Schemas['AuditPage']['left']>[number]['ring'];

/** What each ring has, for people. */
export const RINGS: Readonly<Record<Ring, string>> = {
  given: 'Records of rights that were given',
  passwords: 'Records of passwords that were chosen',
  secrets: 'Records of looks at the signing secret',
  joined: 'Records of people who joined',
  taken: 'Records of rights that were taken',
  sign_ins: 'Records of sign-ins',
  requests: 'Records of requests about rights',
  work: 'Records of work',
  refusals: 'Records of refused credentials',
};

/** Which records are shown. It is in the address of the page. */
export interface AuditFilter {
  readonly action?: Action;
  /** The first day, such as `2026-01-31`, in UTC. */
  readonly since?: string;
  /** The day after the last one, in UTC. */
  readonly until?: string;
}

/** The filter in the query of an address, without what the API would refuse. */
export const auditFilterIn = (query: Readonly<Record<string, unknown>>): AuditFilter => {
  const { action, since, until } = query;
  return {
    ...(isAction(action) && { action }),
    ...(isDay(since) && { since }),
    ...(isDay(until) && { until }),
  };
};

const isAction = (value: unknown): value is Action =>
  typeof value === 'string' && Object.hasOwn(ACTIONS, value);

const DAY = /^\d{4}-\d{2}-\d{2}$/;

const isDay = (value: unknown): value is string =>
  typeof value === 'string' && DAY.test(value) && !Number.isNaN(Date.parse(value));

/** Without a member, or with it. */
export const withAuditMember = (filter: AuditFilter, name: keyof AuditFilter, value: string): AuditFilter =>
  auditFilterIn({ ...filter, [name]: value });
