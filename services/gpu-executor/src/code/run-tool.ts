import { removeTree } from '../folders/remove-tree.ts';
import { messageOf } from '@runledger/resilience/errors';
import { visibleHost, type View } from '../isolation/isolation.ts';
import { readLines, readStreams } from '../runners/output/read-streams.ts';
import type { ProcessHost } from '../runners/runner-type.ts';
import { watchDisk } from '../supervision/enforcement.ts';
import type { Sandbox } from '../supervision/supervisors.ts';
import { processEnvironment } from '../supervision/process-environment.ts';
import { cancelWithGrace, logStrays } from '../supervision/supervised-process.ts';
import { chmod, copyFile, lchown, lstat, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { getegid, geteuid } from 'node:process';

/** A tool that fills a folder for an organisation, such as uv: packages may bring programs, which it starts. */
export interface ToolRun {
  readonly org_id: string;
  /** Empty; nobody else has it yet. In the view as writable. */
  readonly folder: string;
  readonly maxBytes: number;
  readonly view: View;
  readonly command: string;
  readonly args: readonly string[];
  /** What it executes is nobody's but its own, so that it may have what later tools of the organisation trust. */
  readonly hasCache: boolean;
  /** `cache` stays for the next tool of the organisation, or is of this one alone. */
  readonly env: (folders: {
    readonly cache: string;
    readonly temporary: string;
  }) => Readonly<Record<string, string>>;
  /** A line that it writes. */
  readonly onLine: (line: string) => void;
  readonly stop: AbortSignal;
}

export type ToolEnd =
  | { readonly kind: 'done' }
  | { readonly kind: 'stopped' }
  /** Its last lines, or why it was ended. */
  | { readonly kind: 'failed'; readonly said: string };

/** It may tidy up for so long. */
const STOP_GRACE_MS = 2_000;
const MAX_LINE_BYTES = 8 * 1024;
const LAST_LINES = 12;

/**
 * Runs it as programs of the organisation run: with a user, a view and a cache of its own. Afterwards the folder belongs to the executor, whatever the tool
 * did there: no program can change it.
 * @throws errors of the disk
 */
export const runTool = async (host: ProcessHost, tool: ToolRun): Promise<ToolEnd> => {
  const { org_id, folder, view, command, args, stop } = tool;
  const { supervisors, mark, env, log } = host;
  const lines: string[] = [];
  const take = ({ text }: { readonly text: string }): void => {
    if (text.trim() === '') return;
    lines.push(text);
    if (lines.length > LAST_LINES) lines.shift();
    tool.onLine(text);
  };
  await using left = new AsyncDisposableStack();
  // Of a supervisor that ends with it: its cache is free for the next tool then.
  const lasting = tool.hasCache ? { org_id, of: ENVIRONMENTS } : null;
  const sandbox = opened(() => supervisors.sandboxForResident(view, lasting, [folder]));
  if (typeof sandbox === 'string') return { kind: 'failed', said: sandbox };
  left.defer(() => sandbox.leave());
  const temporary = sandbox.makeTemporary();
  left.defer(() => removeTree(temporary, log));
  const cache = sandbox.cache ?? temporary;
  const process = sandbox.start({
    command,
    args,
    env: processEnvironment({
      host: visibleHost(supervisors.isolation, env),
      env: tool.env({ cache, temporary }),
      device: '',
      temporary,
      cache: sandbox.cache,
      mark,
    }),
    folder: temporary,
  });
  const draw = (): void => undefined;
  const output = readStreams(process, {
    stdout: readLines(MAX_LINE_BYTES, { take, draw }),
    stderr: readLines(MAX_LINE_BYTES, { take, draw }),
  });
  process.stdin.end();
  let isTooLarge = false;
  const tooLarge = (): void => {
    isTooLarge = true;
    process.kill();
  };
  left.use(watchDisk(folder, tool.maxBytes, tooLarge, log));
  left.use(cancelWithGrace(process, stop, STOP_GRACE_MS));
  const end = await process.ended;
  logStrays(end, log, { org_id, command });
  await output.drained();
  if (stop.aborted) return { kind: 'stopped' };
  if (isTooLarge)
    return { kind: 'failed', said: `It has more than ${tool.maxBytes} bytes (EXECUTOR_CODE_BYTES).` };
  if (end.kind === 'not_started')
    return { kind: 'failed', said: `${command} cannot be started: ${end.code}.` };
  if (end.kind === 'exited' && end.code === 0) {
    await takeOver(folder);
    return { kind: 'done' };
  }
  const how = end.kind === 'exceeded' ? `It used more than its limit of ${end.exceeded.resource}.` : '';
  return {
    kind: 'failed',
    said: [...lines, how].filter((line) => line !== '').join('\n') || `It ended: ${end.kind}.`,
  };
};

/** Names the lasting cache of an organisation for its tools. */
const ENVIRONMENTS = 'environments';

/** Or why it cannot be opened. */
const opened = (open: () => Sandbox): Sandbox | string => {
  try {
    return open();
  } catch (error) {
    return messageOf(error);
  }
};

/** No process of the user is left. What is there may lead anywhere, and have other names: no link is followed, and a file with another name is copied. */
const takeOver = async (folder: string): Promise<void> => {
  await own(folder);
  await chmod(folder, 0o755);
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) await takeOver(path);
    else if (entry.isSymbolicLink()) await own(path);
    else if (entry.isFile()) await takeFile(path);
    else await rm(path);
  }
};

const takeFile = async (path: string): Promise<void> => {
  const { nlink, mode } = await lstat(path);
  if (nlink > 1) {
    const copy = `${path}.copy`;
    await copyFile(path, copy);
    await rename(copy, path);
  }
  await own(path);
  await chmod(path, (mode & 0o111) === 0 ? 0o644 : 0o755);
};

const own = async (path: string): Promise<void> => {
  const [uid, gid] = [geteuid?.() ?? 0, getegid?.() ?? 0];
  const found = await lstat(path);
  if (found.uid !== uid || found.gid !== gid) await lchown(path, uid, gid);
};
