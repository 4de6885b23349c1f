import { apiCall } from './api-call.ts';
import type { ApiCall } from './api-call.ts';
import type { ApiConnection } from './connection.ts';
import { jsonFiles } from '../options/json-files.ts';
import type { FileSources, ReadJsonFile } from '../options/json-files.ts';
import type { Screen } from '../output/screen.ts';

/** What commands use that call the run API. */
export interface Client {
  readonly connection: ApiConnection;
  readonly call: ApiCall;
  readonly screen: Screen;
  readonly readJsonFile: ReadJsonFile;
  /** Paths of files are relative to it. */
  readonly cwd: string;
}

export const openClient = (connection: ApiConnection, screen: Screen, files: FileSources): Client => ({
  connection,
  call: apiCall(connection, screen.hint),
  screen,
  readJsonFile: jsonFiles(files),
  cwd: files.cwd,
});
