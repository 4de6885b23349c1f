import { Type, type Static } from 'typebox';
import {
  AUDIT_ACTIONS,
  AUDIT_RING_NAMES,
  AUDIT_RINGS,
  AuditAction,
  type AuditRing,
} from './audit-actions.ts';
import { enumInWords } from './schemas.ts';

const uuid = (description: string) =>
  Type.String({ format: 'uuid', description, examples: ['01a21460-0008-7000-8000-000000000008'] });

/** The one who did it. Never a secret. */
export const AuditActor = Type.Union(
  [
    Type.Object(
      {
        kind: Type.Literal('key', { description: 'An API key, or a token that one made.' }),
        key_id: uuid('The id of the API key.'),
        user_id: uuid('The user of the key.'),
        org_id: uuid('The organisation of the key.'),
        address: Type.Union([Type.String({ maxLength: 64 }), Type.Null()], {
          description: 'The address of the client; null when the connection was closed already.',
          examples: ['192.0.2.17'],
        }),
      },
      { description: 'An API key.' },
    ),
    Type.Object(
      {
        kind: Type.Literal('session', { description: 'A person who is signed in.' }),
        session_id: uuid('The id of the session.'),
        user_id: uuid('The person.'),
        org_id: Type.Union([uuid('The organisation in which the session acts.'), Type.Null()], {
          description: 'Null while the session acts in none.',
        }),
        address: Type.Union([Type.String({ maxLength: 64 }), Type.Null()], {
          description: 'The address of the client; null when the connection was closed already.',
          examples: ['192.0.2.17'],
        }),
      },
      { description: 'A session of a person.' },
    ),
    Type.Object(
      { kind: Type.Literal('operator', { description: 'Whoever has them.' }) },
      { description: "The operator's credentials of the broker." },
    ),
    Type.Object(
      {
        kind: Type.Literal('unknown', { description: 'Clients without a valid credential.' }),
        network: Type.String({
          maxLength: 64,
          description: 'The addresses of the clients, such as 192.0.2.0/24; `others` for many networks.',
          examples: ['192.0.2.0/24'],
        }),
      },
      { description: 'Nobody who is known.' },
    ),
  ],
  { description: 'Who did it.' },
);
export type AuditActor = Static<typeof AuditActor>;

export const AuditTarget = Type.Object(
  {
    kind: Type.String({
      pattern: '^[a-z_]{1,32}$',
      description: 'What it is, as the action begins.',
      examples: ['deployment'],
    }),
    id: Type.Union([Type.String({ maxLength: 256 }), Type.Null()], {
      description: 'Its id. Null when it has none, or none yet.',
      examples: ['01a21460-0004-7000-8000-000000000004'],
    }),
  },
  { description: 'What it was done to.' },
);
export type AuditTarget = Static<typeof AuditTarget>;

const Word = Type.String({ maxLength: 128 });
/** Bounded facts about an action: names of members, ids, scopes, numbers. Never a value that a client chose freely. */
export const AuditDetails = Type.Record(
  Type.String({ pattern: '^[a-z_]{1,32}$' }),
  Type.Union([Word, Type.Number(), Type.Boolean(), Type.Null(), Type.Array(Word, { maxItems: 32 })]),
  {
    description:
      'More about the action, by name: names of members, ids, scopes, numbers. Only present when there is more.',
    examples: [{ matched: 40, cancelled: 38 }],
  },
);
export type AuditDetails = Static<typeof AuditDetails>;

const STAGES = {
  requested: 'Stored before the action is carried out. Without its `completed` it may have taken effect.',
  completed: 'Stored after it.',
} as const;

/**
 * A record of an action. `requested` is stored before it is carried out, and `completed` after it, with the same id: a `requested` alone
 * says that the service was ended meanwhile, and the action may have taken effect.
 */
export const AuditRecord = Type.Object({
  version: Type.Literal(1),
  id: uuid('The id of the action: both of its records have it.'),
  stage: enumInWords(STAGES, { description: 'Which record of the action it is.' }),
  action: AuditAction,
  org_id: Type.Union([uuid('Whose record it is.'), Type.Null()], {
    description: 'Null for what no organisation owns.',
  }),
  actor: AuditActor,
  target: AuditTarget,
  outcome: Type.Union(
    [
      enumInWords(
        {
          done: 'It was done.',
          refused: 'It was refused.',
          unknown: 'The request failed, and may or may not have taken effect.',
        },
        { description: 'What came of it.' },
      ),
      Type.Null(),
    ],
    { description: 'Null in a `requested` record.' },
  ),
  request_id: Type.Union([Type.String({ maxLength: 128 }), Type.Null()], {
    description:
      'The id of the request, as its header `X-Request-Id` and the log of the service have it. Null when no request did it.',
    examples: ['01a21460-ae48-7794-b9bb-ade918a387db'],
  }),
  details: Type.Optional(AuditDetails),
});
export type AuditRecord = Static<typeof AuditRecord>;
export type AuditOutcome = NonNullable<AuditRecord['outcome']>;

/** Where a record is kept. Of what is about rights, only what may have taken effect is kept with the rights. */
export const auditRingOf = ({
  action,
  stage,
  outcome,
}: Pick<AuditRecord, 'action' | 'stage' | 'outcome'>): AuditRing => {
  const { ring } = AUDIT_ACTIONS[action];
  const mayHaveEffect = stage === 'completed' && outcome !== 'refused';
  return AUDIT_RINGS[ring].about === 'work' || mayHaveEffect ? ring : 'requests';
};

/** The rings that may have records of an action; all when left out. */
export const ringsOf = (action: AuditAction | undefined): readonly AuditRing[] => {
  if (action === undefined) return AUDIT_RING_NAMES;
  const { ring } = AUDIT_ACTIONS[action];
  return AUDIT_RINGS[ring].about === 'rights' ? [ring, 'requests'] : [ring];
};

/** A token of a subject, where organisations have their ids. */
const INSTALLATION = 'installation';

/** `org_id`: null for the records of no organisation; undefined for those of all, as a filter. */
export const auditSubject = (org_id: string | null | undefined, ring: AuditRing | '*'): string =>
  `audit.${org_id === undefined ? '*' : (org_id ?? INSTALLATION)}.${ring}`;
