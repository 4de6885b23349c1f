import { Type, type Static } from 'typebox';
import { AuditAction } from './audit-actions.ts';

const Uuid = Type.String({ format: 'uuid' });

/** The one who did it. Never a secret. */
export const AuditActor = Type.Union([
  Type.Object(
    {
      kind: Type.Literal('key'),
      key_id: Uuid,
      user_id: Uuid,
      org_id: Uuid,
      address: Type.Union([Type.String({ maxLength: 64 }), Type.Null()], {
        description: 'Of the client; null when the connection was closed already.',
      }),
    },
    { description: 'An API key.' },
  ),
  Type.Object(
    { kind: Type.Literal('operator') },
    { description: "The operator's credentials of the broker." },
  ),
  Type.Object(
    {
      kind: Type.Literal('unknown'),
      network: Type.String({
        maxLength: 64,
        description: 'The addresses of the clients, such as 192.0.2.0/24; `others` for many networks.',
      }),
    },
    { description: 'Nobody who is known.' },
  ),
]);
export type AuditActor = Static<typeof AuditActor>;

export const AuditTarget = Type.Object({
  kind: Type.String({ pattern: '^[a-z_]{1,32}$' }),
  id: Type.Union([Type.String({ maxLength: 256 }), Type.Null()], {
    description: 'Null when it has none, or none yet.',
  }),
});
export type AuditTarget = Static<typeof AuditTarget>;

const Word = Type.String({ maxLength: 128 });
/** Bounded facts about an action: names of members, ids, scopes, numbers. Never a value that a client chose freely. */
export const AuditDetails = Type.Record(
  Type.String({ pattern: '^[a-z_]{1,32}$' }),
  Type.Union([Word, Type.Number(), Type.Boolean(), Type.Null(), Type.Array(Word, { maxItems: 32 })]),
);
export type AuditDetails = Static<typeof AuditDetails>;

export const AUDIT_STAGES = ['requested', 'completed'] as const;
export type AuditStage = (typeof AUDIT_STAGES)[number];

/**
 * A record of an action. `requested` is stored before it is carried out, and `completed` after it, with the same id: a `requested` alone
 * says that the service was ended meanwhile, and the action may have taken effect.
 */
export const AuditRecord = Type.Object({
  version: Type.Literal(1),
  id: Uuid,
  stage: Type.Enum([...AUDIT_STAGES]),
  action: AuditAction,
  /** Whose record it is; null for what no organisation owns. */
  org_id: Type.Union([Uuid, Type.Null()]),
  actor: AuditActor,
  target: AuditTarget,
  outcome: Type.Union([Type.Enum(['done', 'refused', 'unknown']), Type.Null()]),
  request_id: Type.Union([Type.String({ maxLength: 128 }), Type.Null()]),
  details: Type.Optional(AuditDetails),
});
export type AuditRecord = Static<typeof AuditRecord>;
export type AuditOutcome = NonNullable<AuditRecord['outcome']>;

/** A token of a subject, where organisations have their ids. */
const INSTALLATION = 'installation';

export const ALL_AUDIT = 'audit.>';

export const auditSubject = ({
  org_id,
  action,
  stage,
}: Pick<AuditRecord, 'org_id' | 'action' | 'stage'>): string =>
  `audit.${org_id ?? INSTALLATION}.${action}.${stage}`;

export interface AuditFilter {
  /** Null for the records of no organisation; undefined for all. */
  readonly org_id?: string | null | undefined;
  readonly action?: AuditAction | undefined;
}

export const auditFilter = ({ org_id, action }: AuditFilter): string =>
  `audit.${org_id === undefined ? '*' : (org_id ?? INSTALLATION)}.${action ?? '*.*'}.*`;
