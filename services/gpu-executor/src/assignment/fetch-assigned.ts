import type { InputTarget } from '@runledger/contracts/catalogue/input-targets';
import { errorOf } from '@runledger/contracts/events/run-error';
import { isJsonObject, parseJson } from '@runledger/contracts/json';
import { MAX_INPUTS_BYTES, MAX_WORKFLOW_BYTES } from '@runledger/contracts/limits';
import type { MaskText } from '@runledger/contracts/logs/log-masks';
import type { Assignment } from '../attempt/core/assignment.ts';
import { openAttemptGateway, type GatewaySettings } from '../gateway/attempt-gateway.ts';
import { fetchInputTargets } from './fetch-input-targets.ts';
import { fetchLogMasks } from './fetch-log-masks.ts';
import { fetchSecretInputs } from './fetch-secret-inputs.ts';
import type { FetchOptions, NotFetched } from './fetch-body.ts';
import { fetchText } from './fetch-text.ts';
import type { WorkflowCache } from './workflow-cache.ts';

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
