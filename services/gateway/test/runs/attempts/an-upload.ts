import { newAttemptKeys, signAttempt, type AttemptKeys } from '@runledger/contracts/attempt-token';
import type { RunKey } from '@runledger/contracts/events/subjects';
import type { TestGateway } from '../../fixtures/gateway/a-gateway.ts';
import type { TestBed } from '../../fixtures/gateway/test-bed.ts';
import { appendAll } from '../../fixtures/runs/appended-facts.ts';
import { queueSample } from '../../fixtures/runs/queued-runs.ts';
import { type ApiAnswer, call } from '../../fixtures/requests/requests.ts';
import { assigned, EXECUTOR, started, uploading } from '@runledger/testing/run-events';

/** A run whose first attempt is under way, and what its executor has. */
export interface Attempt {
  readonly run: RunKey;
  readonly keys: AttemptKeys;
  readonly token: string;
}

export const anAttempt = async (bed: TestBed, gateway: TestGateway): Promise<Attempt> => {
  return anAttemptOf(bed, await queueSample(gateway, bed.tenant));
};

/** The first attempt of a queued run, which has announced the bytes of its files. */
export const anAttemptOf = async ({ log }: TestBed, run: RunKey, bytes = 3_000_000): Promise<Attempt> => {
  const keys = await newAttemptKeys();
  const announced = uploading(run, 1, EXECUTOR, bytes);
  await appendAll(log, assigned(run, { publicKey: keys.publicKey }), started(run), announced);
  return { run, keys, token: await signAttempt(keys, run, 1) };
};

export interface UploadOptions {
  readonly filename?: string;
  readonly subfolder?: string;
  readonly contentType?: string;
  readonly attempt?: number;
  readonly token?: string | null;
  readonly query?: string;
}

export const uploadUrl = (
  { url }: Pick<TestGateway, 'url'>,
  { run }: Attempt,
  options: UploadOptions = {},
): string => {
  const { filename = 'file.png', subfolder = '', attempt = 1 } = options;
  const query = options.query ?? new URLSearchParams({ filename, subfolder, type: 'output' }).toString();
  return `${url}/executions/${run.org_id}/${run.run_id}/${attempt}/outputs?${query}`;
};

export const upload = (
  gateway: Pick<TestGateway, 'url'>,
  attempt: Attempt,
  body: Uint8Array<ArrayBuffer>,
  options: UploadOptions = {},
): Promise<ApiAnswer> =>
  call(uploadUrl(gateway, attempt, options), options.token === undefined ? attempt.token : options.token, {
    method: 'PUT',
    body,
    headers: { 'content-type': options.contentType ?? 'image/png' },
  });

/** Bytes whose values show their position. */
export const numbered = (length: number): Uint8Array<ArrayBuffer> => {
  const bytes = new Uint8Array(length);
  for (let index = 0; index < length; index += 1) bytes[index] = (index * 31 + (index >> 8)) & 0xff;
  return bytes;
};
