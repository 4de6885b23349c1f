import type { UploadedFile, Run, Bytes } from './operations.ts';
import { type Inputs, uploadFile, type UploadOptions } from './runs/files.ts';
import {
  readJson,
  readResponse,
  send,
  type AnyOptions,
  type Request,
  type RequestResponse,
} from './http/request.ts';
import { readSettings, type RunledgerOptions, type Settings } from './http/settings.ts';
import { runEvents, type RunEvent, type SubscribeOptions } from './runs/run-events.ts';
import { runToEnd, type RunOptions } from './runs/run-to-end.ts';
import { openRuns, type Runs } from './runs/runs.ts';

export interface Files {
  /** Uploads a file, whose `id` is then the value of inputs; resumably when it is large. */
  upload(file: Bytes, options?: UploadOptions): Promise<UploadedFile>;
}

/** A client of the run API. It holds no connection, so it needs no close. */
export class Runledger {
  readonly runs: Runs;
  readonly files: Files;
  /**
   * Calls any operation, by its method and path in the OpenAPI document, and returns the JSON of its response:
   * `await client.request('GET', '/machines/{machine_id}', { params: { machine_id } })`. @throws RunledgerError
   */
  readonly request: Request;
  /** The same for a body that is not JSON, such as a file: returns the response. */
  readonly fetch: RequestResponse;
  readonly #settings: Settings;

  /** @throws RunledgerError for what is missing or invalid */
  constructor(options: RunledgerOptions = {}) {
    // Private, so that no log of the client shows the key.
    const settings = readSettings(options);
    this.#settings = settings;
    const request = (method: string, path: string, options: AnyOptions = {}): Promise<unknown> =>
      send(settings, method, path, options, readJson);
    const fetch = (method: string, path: string, options: AnyOptions = {}): Promise<Response> =>
      send(settings, method, path, options, readResponse);
    // Their types say what the document says about each operation.
    this.request = request as Request;
    this.fetch = fetch as RequestResponse;
    this.runs = openRuns(settings, this.request);
    this.files = { upload: (file, options = {}) => uploadFile(settings, this.request, file, options) };
  }

  /**
   * Queues a run of a deployment, waits for its end, and returns it. Files in the inputs are uploaded first. When the signal
   * aborts, the run is cancelled. @throws RunFailed when it ends otherwise than in success, RunledgerError, the reason of the signal
   */
  run(deployment: string, inputs: Inputs = {}, options: RunOptions = {}): Promise<Run> {
    return runToEnd(this.#settings, this, deployment, inputs, options);
  }

  /** The events of a run until it has ended. After a lost connection they continue where they were. @throws RunledgerError */
  subscribe(runId: string, options: SubscribeOptions = {}): AsyncGenerator<RunEvent, void, undefined> {
    return runEvents(this.#settings, runId, options);
  }
}
