import { isJsonObject, parseJson } from '@runledger/contracts/json';
import { opendir, stat } from 'node:fs/promises';
import { isIP } from 'node:net';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { isWrittenSince } from '../output-files.ts';
import type { Span } from './prompt-state.decide.ts';
import { isRunFolder, type FolderFile } from './outputs.decide.ts';

export type ComfyAnswer =
  | { readonly kind: 'answered'; readonly status: number; readonly text: string }
  | { readonly kind: 'unreachable'; readonly why: string };

/** How a server is asked. */
export interface ServerReads {
  get(path: string, query?: Readonly<Record<string, string>>): Promise<ComfyAnswer>;
}

/** What is known of a server beside its address. */
export interface ServerLocation {
  readonly url: URL;
  /** Its output folder as the executor sees it, where the operator says it. */
  readonly output: string | null;
  /** The folder in which it runs, if the executor starts it. */
  readonly cwd: string | null;
}

/**
 * Where a server keeps its outputs, as far as the executor sees it: what the operator says, or what a server on this machine says
 * about itself. Null for any other server.
 */
export const outputFolder = async (
  { url, output, cwd }: ServerLocation,
  api: ServerReads,
): Promise<string | null> => {
  if (output !== null) return output;
  if (!isLoopback(url)) return null;
  const argv = await argvOf(api);
  const named = optionOf(argv, '--output-directory');
  if (named !== undefined) return absolute(named, cwd);
  const base = optionOf(argv, '--base-directory');
  const root = base === undefined ? await installedAt(api) : absolute(base, cwd);
  return root === null ? null : join(root, 'output');
};

const isLoopback = ({ hostname }: URL): boolean =>
  hostname === 'localhost' || hostname === '[::1]' || (isIP(hostname) === 4 && hostname.startsWith('127.'));

const argvOf = async (api: ServerReads): Promise<readonly unknown[]> => {
  const answer = await api.get('system_stats');
  const stats = answer.kind === 'answered' ? parseJson(answer.text) : undefined;
  const system = isJsonObject(stats) ? stats['system'] : undefined;
  const argv = isJsonObject(system) ? system['argv'] : undefined;
  return Array.isArray(argv) ? argv : [];
};

const optionOf = (argv: readonly unknown[], option: string): string | undefined => {
  const texts = argv.map(String);
  const at = texts.findLastIndex((text) => text === option || text.startsWith(`${option}=`));
  return at === -1 ? undefined : texts[at] === option ? texts[at + 1] : texts[at]?.slice(option.length + 1);
};

const absolute = (path: string, cwd: string | null): string | null => {
  if (isAbsolute(path)) return path;
  return cwd === null ? null : resolve(cwd, path);
};

/** ComfyUI's own page reads the same answer. */
const installedAt = async (api: ServerReads): Promise<string | null> => {
  const answer = await api.get('internal/folder_paths');
  const paths = answer.kind === 'answered' ? parseJson(answer.text) : undefined;
  const nodes = isJsonObject(paths) ? paths['custom_nodes'] : undefined;
  const first: unknown = Array.isArray(nodes) ? nodes[0] : undefined;
  return typeof first === 'string' && isAbsolute(first) ? dirname(first) : null;
};

export type WrittenFiles =
  | { readonly kind: 'found'; readonly files: readonly FolderFile[] }
  /** There is no such folder here, it cannot be read, or it has too many entries. */
  | { readonly kind: 'unseen' };

const MAX_ENTRIES = 200_000;
const MAX_DEPTH = 16;

/**
 * The files that were written into an output folder in a span of time, but those in folders of other attempts. A server executes one prompt
 * at a time: what appears while it executes one is of that one.
 */
export const writtenFiles = async (root: string, own: string, { from, to }: Span): Promise<WrittenFiles> => {
  const files: FolderFile[] = [];
  let entries = 0;
  const walk = async (subfolder: string, depth: number): Promise<boolean> => {
    for await (const entry of await opendir(join(root, subfolder))) {
      entries += 1;
      if (entries > MAX_ENTRIES) return false;
      const path = join(subfolder, entry.name);
      if (entry.isDirectory()) {
        const isOthers = isRunFolder(path) && path !== own;
        if (!isOthers && depth < MAX_DEPTH && !(await walk(path, depth + 1))) return false;
      } else if (entry.isFile()) {
        const stats = await stat(join(root, path));
        // The server's own times are whole milliseconds, cut off.
        if (isWrittenSince(from, stats) && stats.ctimeMs < to + 1)
          files.push({ filename: entry.name, subfolder, type: 'output' });
      }
    }
    return true;
  };
  try {
    if (!(await walk('', 0))) return { kind: 'unseen' };
  } catch {
    return { kind: 'unseen' };
  }
  return { kind: 'found', files: files.toSorted((a, b) => (pathOf(a) < pathOf(b) ? -1 : 1)) };
};

const pathOf = ({ subfolder, filename }: FolderFile): string => join(subfolder, filename);
