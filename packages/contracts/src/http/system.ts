import { Type, type Static } from 'typebox';
import { Instance, type ServiceWithInstances } from '../requests/instances.ts';
import { enumInWords, nullable, type InWords } from '../schemas.ts';
import { time } from './fields.ts';

const count = (description: string, example = 0): Type.TInteger =>
  Type.Integer({ minimum: 0, description, examples: [example] });

const SERVICES: InWords<ServiceWithInstances> = {
  gateway: 'Serves the API and keeps the views.',
  scheduler: 'Assigns runs to executors.',
  notifier: 'Sends webhooks.',
};

const Service = enumInWords(SERVICES, {
  description: 'The service of the process.',
  examples: ['scheduler'],
});

const KINDS = {
  stream: 'A stream of messages.',
  bucket: 'A key-value bucket.',
  objects: 'An object store.',
} as const;

const ServiceInstance = Type.Object(
  { service: Service, ...Instance.properties },
  { title: 'ServiceInstance', description: 'A process of a service, as it says itself.' },
);

const Leadership = Type.Object(
  {
    lease: Type.String({
      description:
        'What it leads: `scheduler` (who decides), `projection.v…` (who keeps views that gateways share), or `schedules` (who queues runs at their times).',
      examples: ['scheduler'],
    }),
    holder: Type.String({
      maxLength: 200,
      description: 'The `instance` that holds it.',
      examples: ['scheduler-1f3a9c42'],
    }),
    renewed_at: time(
      'When it was renewed, by the clock of the broker. A process that is alive renews it each second; a later one takes it over three seconds after the last time.',
    ),
  },
  { title: 'Leadership', description: 'A lease, which one process at a time holds.' },
);

const FleetCounts = Type.Object(
  {
    ready: count('They get runs.', 3),
    draining: count('They get no runs, because their name is drained or they are stopping.'),
    unresponsive: count('They sent no heartbeat for half a heartbeat period.'),
    absent: count('Drained names without an executor.'),
    more: Type.Boolean({
      description: 'Whether there are more executors than were counted. `GET /executors` lists all.',
      examples: [false],
    }),
  },
  { title: 'FleetCounts', description: 'Executors by their state, as the leading scheduler knows them.' },
);

const ProjectionState = Type.Object(
  {
    position: count('The position in the log up to which the views have everything.', 20_731),
    lag_messages: count('Messages of the log that are not in the views yet.'),
    lag_seconds: nullable(
      Type.Number({
        minimum: 0,
        description: 'The age of the first message that is not in the views yet; 0 when there is none.',
        examples: [0],
      }),
      'Null when the message could not be read in time.',
    ),
  },
  {
    title: 'ProjectionState',
    description: 'How far the views are that this gateway reads, as it saw them in the last two seconds.',
  },
);

const StreamState = Type.Object(
  {
    name: Type.String({ description: 'Its name at the broker.', examples: ['RUNS'] }),
    kind: enumInWords(KINDS, { description: 'What it is for clients of the broker.', examples: ['stream'] }),
    messages: count('Its messages.', 20_731),
    bytes: count('What they take, in bytes, in one copy.', 12_402_688),
    max_bytes: nullable(count('What they may take, in bytes.', 8_589_934_592), 'Null without a limit.'),
    max_age_s: nullable(
      Type.Number({
        minimum: 0,
        description: 'The age in seconds at which messages expire.',
        examples: [604_800],
      }),
      'Null when they do not expire by their age.',
    ),
    copies: count('The number of copies that it should have, each at another broker.', 3),
    current_copies: count('The number of copies that have everything.', 3),
    leader: nullable(
      Type.String({ description: 'The broker that leads it.', examples: ['n1'] }),
      'Null with a single broker, and while there is none.',
    ),
  },
  { title: 'StreamState', description: 'What a stream, bucket or object store of the log holds.' },
);

const LogStorage = Type.Object(
  {
    used_bytes: count('What all copies of all streams take at the brokers, in bytes.', 37_208_064),
    limit_bytes: nullable(
      count('What they may take, in bytes.'),
      'Null when the brokers set no limit for the log as a whole. How much room their disks have, they tell no service.',
    ),
  },
  { title: 'LogStorage', description: 'What the log takes at its brokers.' },
);

export const System = Type.Object(
  {
    complete: Type.Boolean({
      description: 'Whether everything responded in time. If not, `did_not_respond` says what is missing.',
      examples: [true],
    }),
    did_not_respond: Type.Array(Type.String(), {
      description:
        'What did not respond within a second: a service of which no process did, an `instance` that holds a lease, `executors`, `projection`, `leases`, `broker`, or the name of a stream.',
      examples: [[]],
    }),
    instances: Type.Array(ServiceInstance, {
      description: 'The processes that responded, by service and name; at most 100 of a service.',
    }),
    leaders: Type.Array(Leadership, { description: 'Who holds which lease.' }),
    executors: nullable(FleetCounts, 'Null while no scheduler responds.'),
    projection: nullable(ProjectionState, 'Null while this gateway does not know it.'),
    streams: Type.Array(StreamState, { description: 'The streams whose leaders responded.' }),
    storage: nullable(LogStorage, 'Null while the broker does not respond.'),
    untrusted_proxy: nullable(
      Type.String({
        description:
          'The first host that sent `X-Forwarded-For` to this gateway without being one of `RUNLEDGER_TRUSTED_PROXIES`. If it is your proxy, name it there: until then all who come through it count as one client.',
        examples: ['10.0.0.5'],
      }),
      'Null while none did.',
    ),
    dead_letters: nullable(
      count('The number of messages that no consumer could handle.'),
      'Null while DEAD_LETTERS does not respond.',
    ),
  },
  { title: 'System', description: 'The state of the installation.' },
);
export type System = Static<typeof System>;
