import { Type, type Static } from 'typebox';
import type { ProgressReport } from '../events/progress.ts';
import { RunError } from '../events/run-error.ts';
import { RunWarning } from '../events/run-warning.ts';
import { nullable } from '../schemas.ts';
import { Tag } from '../run-options.ts';
import { RunUuid } from '../http/fields.ts';
import { RunStatus, RunAttempt } from '../http/runs/run-attempt.ts';
import { MissingMember, OutputItem } from '../http/runs/run-outputs.ts';
import { WorkflowRun } from '../http/runs/run.ts';
import { answerJson } from '../json.ts';
import { liveStatus } from '../http/runs/live-status.ts';
import { isEnded, type Run } from '../fold/run.ts';
import { missingOutputs, endResponse, outputsResponse, type OutputUrl } from '../http/runs/run-response.ts';

/** The version of the payload, not of the events; sent as the header `runledger-webhook-version`. */
export const WEBHOOK_PAYLOAD_VERSION = 1;

/** What became of it. Why it got its slot is not for receivers: `run_url` shows it. */
const NotifiedAttempt = Type.Omit(RunAttempt, ['placement'], {
  title: 'NotifiedAttempt',
  description: 'One try to execute the run on one slot of an executor.',
});

/** The body of a notification. Within a version members may be added, never removed. */
export const WebhookPayload = Type.Object(
  {
    run_id: RunUuid,
    status: RunStatus,
    live_status: WorkflowRun.properties.live_status,
    progress: WorkflowRun.properties.progress,
    outputs: Type.Array(OutputItem, {
      description: 'The outputs as the run shows them: empty until it has ended.',
    }),
    sequence: Type.Integer({
      minimum: 1,
      description:
        'The position in the log that this notification shows. A notification with a lower one is older.',
      examples: [4715],
    }),
    finished: Type.Boolean({
      description: 'Whether nothing about this run follows.',
      examples: [true],
    }),
    end_reason: WorkflowRun.properties.end_reason,
    error: Type.Optional(
      nullable(
        RunError,
        'Why it failed or timed out; present in every notification of this release. Null until the end, and for other ends.',
      ),
    ),
    warnings: Type.Optional(
      Type.Array(RunWarning, {
        description: 'What is odd about a run that has succeeded; only present when something is.',
      }),
    ),
    attempts: Type.Array(NotifiedAttempt, {
      description: 'From the first one to the present or last one; empty until the run is assigned.',
    }),
    tags: Type.Optional(
      Type.Array(Tag, { description: 'The tags of the run; only present when it has some.' }),
    ),
    missing_members: Type.Optional(
      Type.Array(MissingMember, {
        description:
          'What is lost or deleted, as the run shows it; only present when outputs are lost or deleted.',
      }),
    ),
    truncated: Type.Optional(
      Type.Literal(true, {
        description:
          'Only present when the attempts were left out, and outputs if need be. `run_url` shows all of them.',
      }),
    ),
    run_url: Type.Optional(
      Type.String({
        description: 'The address of the run in the run API; only present with `truncated`.',
        examples: ['http://127.0.0.1:8080/api/run/01a21460-ae48-7794-b9bb-ade918a387db'],
      }),
    ),
  },
  { title: 'WebhookPayload', description: 'The status of a run, as its webhook receives it.' },
);
export type WebhookPayload = Static<typeof WebhookPayload>;

export interface PayloadInput {
  readonly run: Run;
  /** What is lost of its outputs. */
  readonly lost: readonly MissingMember[];
  /** The run's head. */
  readonly sequence: number;
  readonly report: ProgressReport | undefined;
  readonly outputUrl: OutputUrl;
  /** The address of this run in the run API. */
  readonly runUrl: string;
  readonly maxBytes: number;
}

const utf8 = new TextEncoder();

/** The body of a notification: the current run, in JSON. When it does not fit, the attempts are left out, and the last outputs. */
export const webhookBody = ({
  run,
  lost,
  sequence,
  report,
  outputUrl,
  runUrl,
  maxBytes,
}: PayloadInput): Uint8Array => {
  const missing = missingOutputs(run, lost);
  const { attempts, warnings, ...end } = endResponse(run);
  const whole: WebhookPayload = {
    run_id: run.run_id,
    status: run.status,
    live_status: liveStatus(run, report?.live_status ?? null),
    progress: isEnded(run) ? run.progress : run.status === 'queued' ? 0 : (report?.progress ?? 0),
    outputs: isEnded(run) ? outputsResponse(run, outputUrl) : [],
    sequence,
    ...end,
    ...(warnings.length > 0 && { warnings }),
    attempts: attempts.map(({ placement: _placement, ...attempt }) => attempt),
    ...(run.request.tags && { tags: [...run.request.tags] }),
    ...(missing.length === 0 ? {} : { missing_members: [...missing] }),
  };
  const body = utf8.encode(answerJson(whole));
  if (body.byteLength <= maxBytes) return body;
  const bare: WebhookPayload = { ...whole, outputs: [], attempts: [], truncated: true, run_url: runUrl };
  // A comma precedes each output except the first.
  let left = maxBytes - utf8.encode(answerJson(bare)).byteLength + 1;
  const tooMany = whole.outputs.findIndex((output) => {
    left -= utf8.encode(answerJson(output)).byteLength + 1;
    return left < 0;
  });
  const outputs = tooMany === -1 ? whole.outputs : whole.outputs.slice(0, tooMany);
  return utf8.encode(answerJson({ ...bare, outputs }));
};
