import type { ExecutingRun } from '@runledger/contracts/fold/run';
import { isJsonObject, parseJson, type JsonObject } from '@runledger/contracts/json';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import type { Logger } from '@runledger/event-log/connect/logger';
import { UnreadableSecret } from '@runledger/webhooks/signing/secret-box';
import type { Middleware } from 'koa';
import { Refused } from '../http/refusal.ts';
import type { InputSecrets } from '../runs/secrets/input-secrets.ts';
import { namedAttempt, permittedRun } from './attempt-permission.ts';
import type { AssignedJson } from './fetch-route.ts';

export interface SecretInputsRoute {
  readonly log: EventLog;
  readonly inputs: (run: ExecutingRun) => Promise<AssignedJson>;
  readonly secrets: Pick<InputSecrets, 'open'>;
  readonly logger: Logger;
}

/** `GET /executions/{org_id}/{run_id}/{attempt}/secret-inputs`: the values, for the executor of the attempt alone. */
export const secretInputsRoute =
  ({ log, inputs, secrets, logger }: SecretInputsRoute): Middleware =>
  async (ctx) => {
    const { run } = await permittedRun(log, ctx, namedAttempt(ctx));
    const json = await inputs(run);
    if (json.kind === 'lost') throw new Refused({ code: json.code, why: json.why });
    ctx.set('Cache-Control', 'no-store');
    try {
      ctx.body = secrets.open(run.org_id, run.request.secret_inputs ?? [], objectIn(json.text));
    } catch (error) {
      if (!(error instanceof UnreadableSecret)) throw error;
      logger.error({ err: error, run_id: run.run_id }, 'the secret inputs of a run cannot be opened');
      throw new Refused({ code: 'secret_inputs_unreadable', why: LOST });
    }
  };

const LOST =
  'The secret inputs of this run cannot be opened: their key is no longer in RUNLEDGER_SECRET_KEYS, or they were changed. Queue it again, with its inputs.';

const objectIn = (text: Uint8Array): JsonObject => {
  const value = parseJson(Buffer.from(text).toString('utf8'));
  return isJsonObject(value) ? (value as JsonObject) : {};
};
