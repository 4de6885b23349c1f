import { Type, type Static } from 'typebox';
import type { ProgressReport } from '../events/activity.ts';
import { Tag } from '../tags.ts';
import { nullable } from '../http/fields/optional.ts';
import {
  EndReason,
  MissingMember,
  OutputItem,
  RunAttempt,
  RunStatus,
  WorkflowRun,
} from '../http/runs/run.ts';
import { liveStatus } from '../run-view/live-status.ts';
import { isEnded, type Run } from '../fold/run.ts';
import { missingOutputs } from '../run-view/missing-outputs.ts';
import { shownEnd } from '../run-view/shown-end.ts';
import { shownOutputs, type OutputUrl } from '../run-view/shown-outputs.ts';

/** The version of the payload, not of the events; sent as the header `runledger-webhook-version`. */
export const WEBHOOK_PAYLOAD_VERSION = 1;

/** What became of it. Why it got its slot is not for receivers: `run_url` shows it. */
const NotifiedAttempt = Type.Omit(RunAttempt, ['placement'], { title: 'NotifiedAttempt' });

/** The body of a notification. Within a version members may be added, never removed. */
export const WebhookPayload = Type.Object(
  {
    run_id: Type.String({ format: 'uuid' }),
    status: RunStatus,
    live_status: nullable(Type.String()),
    progress: Type.Number({ minimum: 0, maximum: 1 }),
    outputs: Type.Array(OutputItem, { description: 'As a run shows them.' }),
    sequence: Type.Integer({
      minimum: 1,
      description:
        'The position in the log that this notification shows. A notification with a lower one is older.',
    }),
    finished: Type.Boolean({ description: 'Nothing about this run follows.' }),
    end_reason: nullable(EndReason),
    error: Type.Optional(WorkflowRun.properties.error),
    attempts: Type.Array(NotifiedAttempt, {
      description: 'From the first one to the present or last one; empty until the run is assigned.',
    }),
    tags: Type.Optional(
      Type.Array(Tag, { description: 'As the run has them; only present when it has some.' }),
    ),
    missing_members: Type.Optional(
      Type.Array(MissingMember, {
        description: 'As a run shows them; only present when outputs are lost or deleted.',
      }),
    ),
    truncated: Type.Optional(
      Type.Literal(true, {
        description:
          'Only present when the attempts were left out, and outputs if need be. `run_url` shows all of them.',
      }),
    ),
    run_url: Type.Optional(Type.String()),
  },
  { title: 'WebhookPayload' },
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
  const { attempts, ...end } = shownEnd(run);
  const whole: WebhookPayload = {
    run_id: run.run_id,
    status: run.status,
    live_status: liveStatus(run, report?.live_status ?? null),
    progress: isEnded(run) ? run.progress : run.status === 'queued' ? 0 : (report?.progress ?? 0),
    outputs: isEnded(run) ? shownOutputs(run, outputUrl) : [],
    sequence,
    ...end,
    attempts: attempts.map(({ placement: _placement, ...attempt }) => attempt),
    ...(run.request.tags && { tags: [...run.request.tags] }),
    ...(missing.length === 0 ? {} : { missing_members: [...missing] }),
  };
  const body = utf8.encode(JSON.stringify(whole));
  if (body.byteLength <= maxBytes) return body;
  const bare: WebhookPayload = { ...whole, outputs: [], attempts: [], truncated: true, run_url: runUrl };
  // A comma precedes each output except the first.
  let room = maxBytes - utf8.encode(JSON.stringify(bare)).byteLength + 1;
  const tooMany = whole.outputs.findIndex((output) => {
    room -= utf8.encode(JSON.stringify(output)).byteLength + 1;
    return room < 0;
  });
  const outputs = tooMany === -1 ? whole.outputs : whole.outputs.slice(0, tooMany);
  return utf8.encode(JSON.stringify({ ...bare, outputs }));
};
