import { namedFiles, readFileValue } from '@runledger/contracts/catalogue/file-inputs';
import type { ExecutingRun } from '@runledger/contracts/fold/run';
import { isUuid } from '@runledger/contracts/ids';
import { isJsonObject, parseJson, type JsonObject } from '@runledger/contracts/json';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import type { Logger } from '@runledger/event-log/connect/logger';
import type { Middleware } from 'koa';
import type { Files } from '../files/files.ts';
import { readParts } from '../files/store/read-parts.ts';
import { noSuchPath } from '../names/no-such-path.ts';
import { Refused } from '../http/refusal.ts';
import { sendFile } from '../outputs/send-file.ts';
import type { OutputStore } from '../outputs/store/output-store.ts';
import { namedAttempt, permittedRun } from './attempt-permission.ts';
import type { AssignedJson } from './fetch-route.ts';

export interface InputFileRoute {
  readonly log: EventLog;
  readonly inputs: (run: ExecutingRun) => Promise<AssignedJson>;
  readonly files: Pick<Files, 'find'>;
  readonly store: OutputStore;
  readonly logger: Logger;
}

/** `GET /executions/{org_id}/{run_id}/{attempt}/files/{id}`: the executor of an attempt fetches a file that the inputs of the run name. */
export const inputFileRoute =
  ({ log, inputs, files, store, logger }: InputFileRoute): Middleware =>
  async (ctx) => {
    const { run } = await permittedRun(log, ctx, namedAttempt(ctx));
    const { id: named }: Record<string, unknown> = ctx['params'] ?? {};
    const id = String(named);
    if (!isUuid(id)) throw noSuchPath(ctx);
    const json = await inputs(run);
    if (json.kind === 'lost') throw new Refused({ code: json.code, why: json.why });
    const isNamed = names(run.request.file_inputs ?? [], objectIn(json.text), id);
    const file = isNamed ? await files.find(run.org_id, id) : undefined;
    if (!file) {
      const why = `The file ${id} is gone: it was deleted or has expired. Upload it, and queue the run again.`;
      throw new Refused({
        code: 'input_file_gone',
        why: isNamed ? why : `The inputs of this run do not name the file ${id}.`,
      });
    }
    const { parts, ...described } = file.value;
    const read = readParts.bind(undefined, store, parts);
    await sendFile(ctx, { file: described, cacheControl: 'no-store', read }, logger);
  };

/** Whether one of these inputs is the file. */
const names = (
  fileInputs: readonly string[],
  inputs: Readonly<Record<string, unknown>>,
  id: string,
): boolean =>
  fileInputs
    .flatMap((name) => namedFiles(inputs[name]))
    .some((named) => {
      const value = readFileValue(named);
      return value?.kind === 'id' && value.id === id;
    });

const objectIn = (text: Uint8Array): JsonObject => {
  const value = parseJson(Buffer.from(text).toString('utf8'));
  return isJsonObject(value) ? (value as JsonObject) : {};
};
