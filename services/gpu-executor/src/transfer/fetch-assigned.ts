import { createHash } from 'node:crypto';
import { AssignmentDocument, HAS_WORKFLOW } from '@runledger/contracts/assignment-document';
import type { InputTarget } from '@runledger/contracts/catalogue/workflow-inputs';
import { type AttemptError, errorOf, type AttemptErrorKind } from '@runledger/contracts/events/run-error';
import { isJsonObject, parseJson } from '@runledger/contracts/json';
import { compileMasks, type MaskText } from '@runledger/contracts/log-masks';
import { untilAborted } from '@runledger/resilience/abort';
import { LRUCache } from 'lru-cache';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import type { Assignment } from '../attempt/assignment.decide.ts';
import { MIN_HIDDEN_LENGTH } from '../runners/output/program-error.decide.ts';
import { maskValues } from '../attempt/log-buffer.decide.ts';
import {
  openAttemptGateway,
  fetchDocumentAt,
  type AttemptGateway,
  type GatewaySettings,
  type UntilAnswered,
} from './attempt-gateway.ts';

export interface FetchOptions {
  readonly stop: AbortSignal;
  /** The gateway is unavailable: the fetch waits for it. */
  readonly onWaiting: () => void;
}

export type NotFetched =
  /** It can never be fetched. */
  | { readonly kind: 'refused'; readonly error: AttemptError }
  /** The run was cancelled or requeued meanwhile, or the executor stops. */
  | { readonly kind: 'stopped' };

/** All that a run is executed with. */
export interface AssignedWork {
  readonly workflow: unknown;
  readonly inputs: Readonly<Record<string, unknown>>;
  readonly inputTargets: readonly InputTarget[];
  /** The values of the variables in `secrets` of a manifest. */
  readonly secrets: Readonly<Record<string, string>>;
  /** Hides in the log and in errors what the deployment masks, and secrets. */
  readonly mask: MaskText;
}

export type FetchedAssignment = ({ readonly kind: 'fetched' } & AssignedWork) | NotFetched;

export interface FetchSettings extends GatewaySettings {
  readonly workflows: WorkflowCache;
}

/**
 * Fetches what the assignment names, in one document: the workflow, unless an attempt has fetched it before, and what is not in the
 * event. When nothing is missing, nothing is fetched. It is stopped at the start deadline of the run.
 */
export const fetchAssigned = async (
  settings: FetchSettings,
  assignment: Assignment,
  options: FetchOptions,
): Promise<FetchedAssignment> => {
  const { org_id, event } = assignment;
  const { workflow_sha256: sha256 } = event.data;
  const gateway = openAttemptGateway(settings, assignment);
  let document: FetchedDocument | undefined;
  const fetchWithWorkflow = async (): Promise<FetchedText> => {
    document = await fetchDocument(settings, gateway, {}, options);
    return document.kind === 'fetched' ? checked('workflow', sha256, document.workflow) : document;
  };
  const workflow = await settings.workflows.get({ org_id, sha256 }, fetchWithWorkflow, options.stop);
  if (workflow.kind !== 'fetched') return workflow;
  const parsed = parseJson(workflow.text.toString('utf8'));
  const variables = event.data.runner.kind === 'code' ? secretsOf(parsed) : {};
  document ??=
    isMissingMore(event.data) || Object.keys(variables).length > 0
      ? await fetchDocument(settings, gateway, { [HAS_WORKFLOW]: sha256 }, options)
      : NOTHING_ELSE;
  if (document.kind !== 'fetched') return document;
  const inputs = inputsOf(event.data, document);
  if (inputs.kind !== 'fetched') return inputs;
  const { secrets } = document;
  const missing = missingSecret(variables, secrets);
  if (missing !== null) return refused(missing, 'prepare_failed');
  const mask = maskOf(document);
  if (mask.kind !== 'fetched') return mask;
  return {
    ...inputs,
    ...mask,
    workflow: parsed,
    inputTargets: document.input_targets,
    secrets,
  };
};

/** The names of the secrets that a manifest wants, by their variables. */
export const secretsOf = (manifest: unknown): Readonly<Record<string, string>> =>
  Value.Check(WithSecrets, manifest) ? manifest.secrets : {};

const WithSecrets = Type.Object({ secrets: Type.Record(Type.String(), Type.String()) });

/** Says which of them has no value; null when all have one. */
export const missingSecret = (
  variables: Readonly<Record<string, string>>,
  secrets: Readonly<Record<string, string>>,
): string | null => {
  const [missing] = Object.entries(variables).filter(([variable]) => !Object.hasOwn(secrets, variable));
  if (missing === undefined) return null;
  const [variable, name] = missing;
  return `The variable ${variable} of the version has the secret ${name}, and the organisation has no secret with this name. Set it with: runledger secrets set ${name}`;
};

type AssignedData = Assignment['event']['data'];

/** Whether the event names something else than the workflow that it does not hold. */
const isMissingMore = ({
  inputs_blob,
  secret_inputs = [],
  has_input_targets,
  has_log_masks,
}: AssignedData): boolean =>
  inputs_blob !== null || secret_inputs.length > 0 || has_input_targets === true || has_log_masks === true;

type FetchedDocument = ({ readonly kind: 'fetched' } & AssignmentDocument) | NotFetched;

const NOTHING_ELSE: FetchedDocument = {
  kind: 'fetched',
  workflow: null,
  inputs: null,
  secret_inputs: {},
  input_targets: [],
  log_masks: null,
  secrets: {},
};

/** Of what the gateway refuses for good. */
const KINDS: Readonly<Record<string, AttemptErrorKind>> = {
  assigned_workflow_lost: 'deployment_removed',
  secrets_unreadable: 'prepare_failed',
};

const GONE = 410;
const DAMAGED = 424;

/** Waits while the gateway is unavailable. */
const fetchDocument = async (
  { log }: GatewaySettings,
  gateway: AttemptGateway,
  query: Readonly<Record<string, string>>,
  { stop, onWaiting }: FetchOptions,
): Promise<FetchedDocument> => {
  const onRetry: UntilAnswered['onRetry'] = (why, level) => {
    log[level]({ ...gateway.about, why }, 'fetching what a run needs again');
    onWaiting();
  };
  const answer = await fetchDocumentAt(gateway, 'assignment', { stop, onRetry }, query);
  switch (answer.kind) {
    case 'stopped':
      return answer;
    case 'not_current':
      return refused(`What this run needs cannot be fetched: ${answer.why}.`);
    case 'refused':
      if (answer.status !== GONE && answer.status !== DAMAGED)
        return refused(`What this run needs cannot be fetched: ${answer.why}.`);
      return refused(answer.detail, KINDS[answer.code ?? ''] ?? 'internal_error');
    case 'ok': {
      const document = parseJson(answer.body.toString('utf8'));
      return Value.Check(AssignmentDocument, document)
        ? { kind: 'fetched', ...document }
        : notUsable('assignment', 'the response of the gateway is no assignment document');
    }
  }
};

type FetchedInputs =
  | { readonly kind: 'fetched'; readonly inputs: Readonly<Record<string, unknown>> }
  | NotFetched;

/** With the values of secret inputs in place of the sealed ones. */
const inputsOf = (
  { inputs, inputs_blob, secret_inputs = [] }: AssignedData,
  document: AssignmentDocument,
): FetchedInputs => {
  const { secret_inputs: secrets } = document;
  if (!secret_inputs.every((name) => Object.hasOwn(secrets, name)))
    return notUsable('secret inputs', 'the response of the gateway does not have them');
  // The schema of the event: the inputs are in it, or it names them.
  if (inputs !== null || inputs_blob === null) return { kind: 'fetched', inputs: { ...inputs, ...secrets } };
  const fetched = checked('inputs', inputs_blob.sha256, document.inputs);
  if (fetched.kind !== 'fetched') return fetched;
  const large = parseJson(fetched.text.toString('utf8'));
  if (!isJsonObject(large)) return notUsable('inputs', 'they are not a JSON object');
  return { kind: 'fetched', inputs: { ...large, ...secrets } };
};

type FetchedMask = { readonly kind: 'fetched'; readonly mask: MaskText } | NotFetched;

/** Without it the run does not begin: it could show a secret. */
const maskOf = ({ log_masks, secret_inputs, secrets }: AssignmentDocument): FetchedMask => {
  const masks = log_masks === null ? NO_MASKS : compileMasks(log_masks);
  if (masks.kind !== 'compiled') return notUsable('log masks', masks.why);
  const long = Object.values(secrets).filter(({ length }) => length >= MIN_HIDDEN_LENGTH);
  const values = [...Object.values(secret_inputs), ...long];
  if (values.length === 0) return { kind: 'fetched', mask: masks.mask };
  const hide = maskValues(values);
  return { kind: 'fetched', mask: (text) => masks.mask(hide(text)) };
};

const NO_MASKS: ReturnType<typeof compileMasks> = { kind: 'compiled', mask: (text) => text };

const checked = (name: 'workflow' | 'inputs', expected: string, text: string | null): FetchedText => {
  if (text === null) return notUsable(name, 'the response of the gateway does not have it');
  const bytes = Buffer.from(text, 'utf8');
  const found = createHash('sha256').update(bytes).digest('hex');
  if (found === expected) return { kind: 'fetched', text: bytes };
  return refused(
    `The ${name} that the gateway has is not what this run was queued with: its SHA-256 should be ${expected} and is ${found}. ` +
      'Its store was damaged: create a new workflow version, and queue the run on it.',
  );
};

const refused = (why: string, kind: AttemptErrorKind = 'internal_error'): NotFetched => ({
  kind: 'refused',
  error: errorOf(kind, why),
});

const notUsable = (what: string, why: string): NotFetched =>
  refused(`The ${what} of this run cannot be used: ${why}.`);

export type FetchedText = { readonly kind: 'fetched'; readonly text: Buffer } | NotFetched;

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
