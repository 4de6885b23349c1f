import type { RunEvent } from '@runledger/contracts/events/run-event';
import type { WebhookEvent } from '@runledger/contracts/events/webhook-event';
import { isDeleted, isEnded, NO_OUTPUTS, type Run, type RunState } from '@runledger/contracts/fold/run';
import { isJsonObject, type JsonObject, type JsonValue } from '@runledger/contracts/json';
import { withoutSecrets } from '../../secrets/input-secrets.ts';

/** The run of an earlier moment, without outputs that were deleted since: nobody sees them again. */
export const withoutDeleted = (earlier: Run, now: RunState | undefined): Run => {
  const deletion = now && !isDeleted(now) && isEnded(now) ? now.deleted_outputs : null;
  if (!deletion || !isEnded(earlier)) return earlier;
  return { ...earlier, ...NO_OUTPUTS, output_bytes: 0, deleted_outputs: { ...deletion, to_erase: null } };
};

/** What an event says, without secret inputs, and without outputs that were deleted since. */
export const shownData = ({ data }: RunEvent | WebhookEvent, now: RunState | undefined): JsonValue => {
  const areDeleted = now !== undefined && !isDeleted(now) && isEnded(now) && now.deleted_outputs !== null;
  const shown = withoutSecretInputs(data);
  const { request } = shown;
  return {
    ...shown,
    ...(isJsonObject(request) && { request: withoutSecretInputs(request) }),
    ...(areDeleted && 'outputs' in shown && { outputs: null, outputs_blob: null }),
  };
};

const withoutSecretInputs = (data: JsonObject): JsonObject => {
  const { inputs, secret_inputs } = data;
  if (!isJsonObject(inputs) || !Array.isArray(secret_inputs)) return data;
  const names = secret_inputs.filter((name) => typeof name === 'string');
  return { ...data, inputs: withoutSecrets(inputs, names) };
};
