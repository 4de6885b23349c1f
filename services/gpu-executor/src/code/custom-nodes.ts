import { randomUUID } from 'node:crypto';
import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { ComfyuiManifest, CustomNode } from '@runledger/contracts/catalogue/code';
import type { Logger } from '@runledger/event-log/connect/observability';
import { removeTree } from '../folders/remove-tree.ts';
import type { FetchUrl } from '../transfer/fetch-url.ts';
import { fetchModel, WEIGHTS, type ModelsRun } from './models.ts';
import { failed, type HeldFolder, type NotPrepared } from './prepared-folders.ts';
import { unpackArchive } from './unpack-code.ts';

interface NodesRun extends ModelsRun {
  readonly comfyui: ComfyuiManifest;
  /** The unpacked code. */
  readonly code: string;
}

interface NodesHost {
  /** For files on their way. */
  readonly workFolder: string;
  readonly fetchModel: FetchUrl;
  readonly log: Logger;
}

/** The custom nodes of a version. */
export interface PreparedNodes extends Disposable {
  readonly kind: 'prepared';
  /** Their folders by the names that ComfyUI is to see. */
  readonly nodes: ReadonlyMap<string, string>;
  readonly wasThere: boolean;
  /** Those beside the code. */
  readonly folders: readonly string[];
}

/** Archives are kept for an organisation by their hashes, unpacked; a folder of the code is where it is. */
export const prepareNodes = async (host: NodesHost, run: NodesRun): Promise<PreparedNodes | NotPrepared> => {
  using stack = new DisposableStack();
  const nodes = new Map<string, string>();
  const archives: HeldFolder[] = [];
  for (const [name, from] of Object.entries(run.comfyui.custom_nodes ?? {})) {
    if ('path' in from) {
      const folder = join(run.code, from.path);
      if (!(await isFolder(folder)))
        return failed(
          `The code of the version has no folder ${from.path}, which the custom node ${name} names.`,
        );
      nodes.set(name, folder);
      continue;
    }
    const made = await run.folders.use(
      { org_id: run.org_id, of: 'custom-nodes', key: from.sha256 },
      (folder) => fetchNode(host, run, { name, from, folder }),
      run.stop,
    );
    if (made.kind !== 'prepared') return made;
    archives.push(stack.use(made));
    nodes.set(name, made.path);
  }
  const all = stack.move();
  return {
    kind: 'prepared',
    nodes,
    wasThere: archives.every(({ wasThere }) => wasThere),
    folders: archives.map(({ path }) => path),
    [Symbol.dispose]: () => all.dispose(),
  };
};

const isFolder = async (path: string): Promise<boolean> =>
  (await stat(path).catch(() => null))?.isDirectory() === true;

interface NodeToFetch {
  readonly name: string;
  readonly from: Extract<CustomNode, { readonly url: string }>;
  /** Empty. */
  readonly folder: string;
}

const fetchNode = async (
  { workFolder, fetchModel: fetchUrl, log }: NodesHost,
  run: NodesRun,
  { name, from, folder }: NodeToFetch,
): Promise<NotPrepared | null> => {
  const { folders, stop } = run;
  await using left = new AsyncDisposableStack();
  // A start removes what begins so.
  const temporary = join(workFolder, `tmp-node-${randomUUID()}`);
  left.defer(() => removeTree(temporary, log));
  const unpacked = join(temporary, 'unpacked');
  await mkdir(unpacked, { recursive: true });
  const what = `The archive of the custom node ${name}`;
  const refused = await fetchModel(fetchUrl, run, {
    path: name,
    what,
    model: from,
    folder: temporary,
    maxBytes: folders.maxBytes,
  });
  if (refused !== null) return refused;
  const why = await unpackArchive(join(temporary, WEIGHTS), unpacked, what, stop);
  if (stop.aborted) return { kind: 'stopped' };
  if (why !== null) return failed(why);
  await rm(folder, { recursive: true, force: true });
  await rename(await inOneFolder(unpacked), folder);
  return null;
};

/** What servers of code give away has one folder, which is named after a commit. */
const inOneFolder = async (folder: string): Promise<string> => {
  const entries = await readdir(folder, { withFileTypes: true });
  const [only] = entries;
  return entries.length === 1 && only?.isDirectory() ? join(folder, only.name) : folder;
};
