import type { JsonObject, JsonValue } from '@runledger/contracts/json';
import { compareNumbers } from '@runledger/contracts/numbers/compare-numbers';
import { isExactNumber, numberText } from '@runledger/contracts/numbers/exact-number';
import type { OrgId, RunId } from '@runledger/contracts/ids';
import type { Run } from '@runledger/contracts/fold/run';
import { DEFAULT_OPTIONS, OPTION_NAMES, type QueueOptions } from './queue-options.ts';
import type { QueueRequest } from './queue-run.ts';

/** A time of a schedule. One run at most is queued for it. */
export type ScheduledTime = NonNullable<Run['request']['schedule']>;

interface ScheduledRun {
  readonly kind: 'schedule';
  readonly schedule: ScheduledTime;
  readonly request: QueueRequest;
}

/** What a client's request asks for. Equal ones are the same request. */
type ClientsRun =
  | { readonly kind: 'queue'; readonly request: QueueRequest }
  | { readonly kind: 'rerun'; readonly of: RunId; readonly inputs: JsonObject | undefined };

export type RequestedRun = ClientsRun | ScheduledRun;

/** The text by which requests are compared. It never changes, since runs keep its hash. */
export const requestText = (requested: ClientsRun): string => {
  switch (requested.kind) {
    case 'queue': {
      const { deployment_id, inputs, webhook, webhook_intermediate_status, gpu, strict_inputs } =
        requested.request;
      const request = { deployment_id, inputs, webhook, webhook_intermediate_status, gpu };
      const named = { ...namedOptions(requested.request), ...(strict_inputs && { strict_inputs }) };
      return canonicalJson({ kind: 'queue', ...request, ...named });
    }
    case 'rerun':
      return canonicalJson({ kind: 'rerun', rerun_of: requested.of, inputs: requested.inputs ?? null });
  }
};

/** Without those that have their defaults: so the text of a request that names none is the same as before an option existed. */
const namedOptions = (options: QueueOptions): JsonObject =>
  Object.fromEntries(
    OPTION_NAMES.map((name) => [name, options[name]] as const).filter(
      ([name, value]) => canonicalJson(value) !== canonicalJson(DEFAULT_OPTIONS[name]),
    ),
  );

/** The text that the id of a run is made from. An organisation's id has no line break, so no two requests share it. */
export const identityText = (org_id: OrgId, key: string): string => `run\n${org_id}\n${key}`;

/** The same for a time of a schedule. */
export const scheduledIdentityText = (org_id: OrgId, { id, time }: ScheduledTime): string =>
  `schedule\n${org_id}\n${id}\n${time}`;

/** Whether that request queued the run. No request with a key queued a run with a random id. */
export const isRunOf = ({ request }: Run, request_sha256: string): boolean =>
  request.idempotency?.request_sha256 === request_sha256;

/**
 * The canonical text of a JSON value: names sorted by their UTF-16 code units, no white space, numbers and texts as
 * JavaScript writes them (RFC 8785), but a number that a double would change as it is. It is recursive, so only for values of little depth.
 */
export const canonicalJson = (value: JsonValue): string => {
  if (isExactNumber(value)) {
    const double = Number(numberText(value));
    return compareNumbers(value, double) === 0 ? JSON.stringify(double) : numberText(value);
  }
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.keys(value)
    .toSorted()
    .map((name) => `${JSON.stringify(name)}:${canonicalJson(value[name] ?? null)}`);
  return `{${members.join(',')}}`;
};
