import { InputTarget } from '@runledger/contracts/catalogue/workflow-inputs';
import { errorOf } from '@runledger/contracts/events/run-error';
import { isJsonObject, parseJson } from '@runledger/contracts/json';
import { MAX_INPUTS_BYTES, MAX_WORKFLOW_BYTES } from '@runledger/contracts/limits';
import { compileMasks, type MaskText } from '@runledger/contracts/log-masks';
import { untilAborted } from '@runledger/resilience/abort';
import { LRUCache } from 'lru-cache';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { LogMasks } from '@runledger/contracts/run-logs';
import type { Assignment } from '../attempt/assignment.decide.ts';
import { openAttemptGateway, type GatewaySettings, type AttemptGateway } from './attempt-gateway.ts';
import {
  type FetchOptions,
  type NotFetched,
  fetchText,
  type FetchedText,
  fetchJson,
  notUsable,
} from './fetch-body.ts';
import { maskValues } from '../attempt/log-buffer.decide.ts';

export type FetchedAssignment =
  | {
      readonly kind: 'fetched';
      readonly workflow: unknown;
      readonly inputs: Readonly<Record<string, unknown>>;
      readonly inputTargets: readonly InputTarget[];
      /** Hides in the log and in errors what the deployment masks. */
      readonly mask: MaskText;
    }
  | NotFetched;

export interface FetchSettings extends GatewaySettings {
  readonly workflows: WorkflowCache;
}

/**
 * Fetches what the assignment names: its workflow, unless an attempt has fetched it before, and inputs that are not in the event.
 * It is stopped at the start deadline of the run.
 */
export const fetchAssigned = async (
  settings: FetchSettings,
  assignment: Assignment,
  options: FetchOptions,
): Promise<FetchedAssignment> => {
  const { org_id, event } = assignment;
  const { workflow_sha256, inputs, inputs_blob } = event.data;
  const gateway = openAttemptGateway(settings, assignment);
  const workflow = await settings.workflows.get(
    { org_id, sha256: workflow_sha256 },
    () => {
      const named = { name: 'workflow', sha256: workflow_sha256, maxBytes: MAX_WORKFLOW_BYTES } as const;
      return fetchText(settings, gateway, named, options);
    },
    options.stop,
  );
  if (workflow.kind !== 'fetched') return workflow;
  const parsed = parseJson(workflow.text.toString('utf8'));
  const masks = await fetchLogMasks(settings, gateway, options);
  if (masks.kind !== 'fetched') return masks;
  const secret = await fetchSecretInputs(settings, gateway, options);
  if (secret.kind !== 'fetched') return secret;
  const mask = secret.masked(masks.mask);
  const found = await fetchInputTargets(settings, gateway, options);
  if (found.kind !== 'fetched') return found;
  const fixed = { kind: 'fetched', workflow: parsed, inputTargets: found.targets, mask } as const;
  // The schema of the event: the inputs are in it, or it names them.
  if (inputs !== null || inputs_blob === null) return { ...fixed, inputs: { ...inputs, ...secret.values } };
  const named = { name: 'inputs', sha256: inputs_blob.sha256, maxBytes: MAX_INPUTS_BYTES } as const;
  const fetched = await fetchText(settings, gateway, named, options);
  if (fetched.kind !== 'fetched') return fetched;
  const large = parseJson(fetched.text.toString('utf8'));
  if (isJsonObject(large)) return { ...fixed, inputs: { ...large, ...secret.values } };
  const why = 'The inputs of this run are not a JSON object.';
  return { kind: 'refused', error: errorOf('internal_error', why) };
};

/** The texts of workflows that this executor has fetched. */
interface WorkflowCache {
  /** `fetch` is called unless the text is there, or another attempt that fetches it now succeeds. */
  get(workflow: WorkflowName, fetch: () => Promise<FetchedText>, stop: AbortSignal): Promise<FetchedText>;
}

/** Organisations share nothing. */
interface WorkflowName {
  readonly org_id: string;
  readonly sha256: string;
}

/** Keeps at most `maxBytes`, and evicts the least recently used workflow first. */
export const workflowCache = (maxBytes: number): WorkflowCache => {
  const texts =
    maxBytes > 0
      ? new LRUCache<string, Buffer>({ maxSize: maxBytes, sizeCalculation: (text) => text.byteLength })
      : undefined;
  const fetches = new Map<string, Promise<FetchedText>>();

  return {
    get: async ({ org_id, sha256 }, fetch, stop) => {
      const key = `${org_id}.${sha256}`;
      while (!stop.aborted) {
        const text = texts?.get(key);
        if (text) return { kind: 'fetched', text };
        const others = fetches.get(key);
        if (!others) {
          const own = fetch()
            .then((fetched) => {
              if (fetched.kind === 'fetched') texts?.set(key, fetched.text);
              return fetched;
            })
            .finally(() => fetches.delete(key));
          fetches.set(key, own);
          return own;
        }
        const shared = await untilAborted(
          others.catch(() => undefined),
          stop,
        );
        if (shared?.kind === 'fetched') return shared;
        // The other attempt was stopped or refused. This one asks with a token of its own.
      }
      return { kind: 'stopped' };
    },
  };
};

type FetchedTargets = { readonly kind: 'fetched'; readonly targets: readonly InputTarget[] } | NotFetched;

const TARGETS = { path: 'input-targets', what: 'targets of the inputs' };
const Targets = Type.Array(InputTarget);

/** Fetches which nodes of the workflow take the inputs, if its version says so. */
const fetchInputTargets = async (
  settings: GatewaySettings,
  gateway: AttemptGateway,
  options: FetchOptions,
): Promise<FetchedTargets> => {
  if (gateway.assignment.event.data.has_input_targets !== true) return { kind: 'fetched', targets: [] };
  const fetched = await fetchJson(settings, gateway, TARGETS, options);
  if (fetched.kind !== 'fetched') return fetched;
  return Value.Check(Targets, fetched.value)
    ? { kind: 'fetched', targets: fetched.value }
    : notUsable(TARGETS.what, 'the response of the gateway is not a list of them');
};

type FetchedMasks = { readonly kind: 'fetched'; readonly mask: MaskText } | NotFetched;

const NO_MASKS: MaskText = (text) => text;

const MASKS = { path: 'log-masks', what: 'log masks' };

/** Fetches what the deployment masks in logs. Without it the run does not begin: it could show a secret. */
const fetchLogMasks = async (
  settings: GatewaySettings,
  gateway: AttemptGateway,
  options: FetchOptions,
): Promise<FetchedMasks> => {
  if (gateway.assignment.event.data.has_log_masks !== true) return { kind: 'fetched', mask: NO_MASKS };
  const fetched = await fetchJson(settings, gateway, MASKS, options);
  if (fetched.kind !== 'fetched') return fetched;
  const { value } = fetched;
  if (Array.isArray(value) && value.length === 0) return { kind: 'fetched', mask: NO_MASKS };
  if (!Value.Check(LogMasks, value))
    return notUsable(MASKS.what, 'the response of the gateway is not a list of patterns');
  const compiled = compileMasks(value);
  return compiled.kind === 'compiled'
    ? { kind: 'fetched', mask: compiled.mask }
    : notUsable(MASKS.what, compiled.why);
};

type FetchedSecrets =
  | {
      readonly kind: 'fetched';
      /** In place of the sealed ones. */
      readonly values: Readonly<Record<string, string>>;
      /** Hides them, after another mask. */
      readonly masked: (mask: MaskText) => MaskText;
    }
  | NotFetched;

const SECRETS = { path: 'secret-inputs', what: 'secret inputs' };
const Values = Type.Record(Type.String(), Type.String());

/** Fetches the values of secret inputs, which the assignment has sealed. */
const fetchSecretInputs = async (
  settings: GatewaySettings,
  gateway: AttemptGateway,
  options: FetchOptions,
): Promise<FetchedSecrets> => {
  const names = gateway.assignment.event.data.secret_inputs ?? [];
  if (names.length === 0) return { kind: 'fetched', values: {}, masked: (mask) => mask };
  const fetched = await fetchJson(settings, gateway, SECRETS, options);
  if (fetched.kind !== 'fetched') return fetched;
  const { value } = fetched;
  if (!Value.Check(Values, value) || !names.every((name) => Object.hasOwn(value, name)))
    return notUsable(SECRETS.what, 'the response of the gateway does not have them');
  const hide = maskValues(Object.values(value));
  return { kind: 'fetched', values: value, masked: (mask) => (text) => mask(hide(text)) };
};
