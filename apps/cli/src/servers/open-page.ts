import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Client } from '../api-client/client.ts';
import type { Environment } from '../api-client/connection.ts';
import { historyPicture } from '../run-history/history.ts';
import { EXIT, type ExitCode } from '../output/command-error.ts';

/**
 * Prints an address, and opens it in the browser if there is one: the reference of the API, or the picture of a run's history. The
 * picture comes as a file, because a browser sends no API key.
 */
export const openPage = async (
  { connection, screen }: Client,
  env: Environment,
  run: string | undefined,
  json: boolean,
): Promise<ExitCode> => {
  const address =
    run === undefined
      ? `${connection.url}/docs`
      : await pictureFile(run, await historyPicture(connection, run));
  const opened = await openInBrowser(address, env);
  if (json) screen.printJson({ address, opened });
  else {
    screen.print(address);
    if (!opened) screen.hint('No browser was found here. Open the address in one.');
  }
  return EXIT.done;
};

/** In a folder that only its owner can read. */
const pictureFile = async (run: string, svg: string): Promise<string> => {
  const path = join(await mkdtemp(join(tmpdir(), 'runledger-')), `run-${run}.svg`);
  await writeFile(path, svg);
  return pathToFileURL(path).href;
};

/** False when there is none: without a display, or without the program that knows it. */
const openInBrowser = async (address: string, env: Environment): Promise<boolean> => {
  const program = openerOf(env);
  if (program === undefined) return false;
  try {
    const child = spawn(program, [address], { env, detached: true, stdio: 'ignore' });
    await once(child, 'spawn');
    child.unref();
    return true;
  } catch {
    return false;
  }
};

const openerOf = ({ DISPLAY, WAYLAND_DISPLAY, BROWSER }: Environment): string | undefined => {
  if (process.platform === 'darwin') return 'open';
  return DISPLAY || WAYLAND_DISPLAY || BROWSER ? 'xdg-open' : undefined;
};
