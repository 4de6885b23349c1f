import { Type, type Static } from 'typebox';
import { MAX_ERROR_MESSAGE } from '../limits.ts';

/** Services whose processes say on request that they are there. Executors send heartbeats instead. */
export const SERVICES_WITH_INSTANCES = ['gateway', 'scheduler', 'notifier'] as const;
export type ServiceWithInstances = (typeof SERVICES_WITH_INSTANCES)[number];

/** Every process of the service answers here, each for itself. */
export const instancesSubject = (service: ServiceWithInstances): string => `request.${service}.instances`;

/** The most checks of one process that are listed. */
export const MAX_LISTED_PROBLEMS = 20;

export const InstancesRequest = Type.Object({});
export type InstancesRequest = Static<typeof InstancesRequest>;

const count = (description: string, example: number): Type.TInteger =>
  Type.Integer({ minimum: 0, description, examples: [example] });
const nullableCount = (description: string, example: number): Type.TUnion<[Type.TInteger, Type.TNull]> =>
  Type.Union([count(description, example), Type.Null()]);

const Problem = Type.Object(
  {
    check: Type.String({
      maxLength: 100,
      description: 'The name of the check, as in `/readyz`.',
      examples: ['broker'],
    }),
    why: Type.String({
      maxLength: MAX_ERROR_MESSAGE,
      description: 'What is wrong, for people.',
      examples: ['the broker is unavailable'],
    }),
  },
  { title: 'InstanceProblem', description: 'A check of a process that is not ok.' },
);

export const Instance = Type.Object(
  {
    instance: Type.String({
      minLength: 1,
      maxLength: 200,
      description: 'Names the process, and is new at each start. Its log has the same name.',
      examples: ['scheduler-1f3a9c42'],
    }),
    software_version: Type.String({
      maxLength: 100,
      description: 'The version of its software.',
      examples: ['0.1.0'],
    }),
    started_at: Type.String({
      format: 'date-time',
      description: 'When the process started, by its own clock.',
      examples: ['2026-01-31T09:30:00.000Z'],
    }),
    ready: Type.Boolean({ description: 'Whether all its checks are ok, as in `/readyz`.', examples: [true] }),
    problems: Type.Array(Problem, {
      maxItems: MAX_LISTED_PROBLEMS,
      description: `Its checks that are not ok; the first ${MAX_LISTED_PROBLEMS}.`,
    }),
    leads: Type.Union([Type.Boolean(), Type.Null()], {
      description:
        'Of a scheduler: whether it leads. Of a gateway: whether it keeps the views. Null for a notifier: they divide the receivers.',
      examples: [true],
    }),
    term: nullableCount('The number of its term. Null unless it is a scheduler that leads.', 12),
    position: nullableCount(
      'Of a gateway that keeps views: the position in the log up to which they have everything. Null for others.',
      20_731,
    ),
    partitions: nullableCount(
      'Of a notifier: the number of partitions of the receivers that it holds. Null for others.',
      16,
    ),
  },
  { title: 'Instance', description: 'A process of a service, as it says itself.' },
);
export type Instance = Static<typeof Instance>;
