// Runs a function of the folder as a resident program: `node harness.mjs predict.mjs:predict`, started in the folder. It is called with the
// inputs of a run and with what the helper package calls the context of the run. What it returns or yields are the outputs. A class with
// `predict`, and with `setup` if it has something to load, works like a function.
import { copyFile, cp, stat, writeFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { basename, extname, join, relative, resolve, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { RunFailed, serve } from './resident.mjs';

const main = async (run) => {
  const at = run.lastIndexOf(':');
  const call = await load(run.slice(0, at), run.slice(at + 1));
  await serve(async (inputs, context) => {
    try {
      await putOut(await call(inputs, context), run, context);
    } catch (error) {
      // A class of the folder's own, or of a helper package that it has installed, says it as well.
      if (error instanceof RunFailed || error?.retryable !== false) throw error;
      throw new RunFailed(error.message, { retryable: false });
    }
  });
};

const load = async (file, name) => {
  const path = resolve(file);
  if (!existsSync(path)) quit(`There is no file ${file} in the folder.`);
  const module = await import(pathToFileURL(path).href);
  const target = module[name] ?? module.default?.[name];
  if (target === undefined) {
    const has = Object.keys(module).filter((each) => typeof module[each] === 'function');
    quit(
      `${file} exports no \`${name}\`. ${has.length === 0 ? 'It exports no function' : `It exports ${has.join(', ')}`}: ` +
        'write `export` before the function, and its name behind the colon of `run`.',
    );
  }
  const instance = typeof target === 'function' && isPredictor(target.prototype) ? new target() : target;
  if (isPredictor(instance)) {
    await instance.setup?.();
    return (inputs, context) => instance.predict(inputs, context);
  }
  if (typeof target !== 'function')
    quit(`\`${name}\` in ${file} is no function, and no class with \`predict\`.`);
  return target;
};

const isPredictor = (value) => typeof value?.predict === 'function';

const quit = (why) => {
  process.stderr.write(`${why}\n`);
  process.exit(1);
};

/** Values of a generator are outputs as they come. */
const putOut = async (made, run, context) => {
  if (typeof made?.next !== 'function') return add(made, run, context);
  for await (const value of made) {
    await add(value, run, context);
    context.signal.throwIfAborted();
  }
};

/** A list is several values. */
const add = async (made, run, context) => {
  const values = [];
  for (const value of Array.isArray(made) ? made : [made]) {
    if (value instanceof Uint8Array) await writeFile(free('output.bin', context), value);
    else if (value instanceof URL && value.protocol === 'file:')
      await addFile(fileURLToPath(value), run, context);
    else if (value !== undefined && !(value === null && made === null)) values.push(value);
  }
  if (values.length > 0) context.output(values);
};

const addFile = async (path, run, context) => {
  const found = await stat(path).catch(() => undefined);
  if (found === undefined)
    throw new RunFailed(`${run} returned the file ${path}, and there is none.`, { retryable: false });
  if (!relative(context.outputDir, path).startsWith(`..${sep}`)) return;
  const to = free(basename(path), context);
  await (found.isDirectory() ? cp(path, to, { recursive: true }) : copyFile(path, to));
};

/** A path in the output folder that no other file has. */
const free = (name, { outputDir }) => {
  const extension = extname(name);
  let path = join(outputDir, name);
  for (let number = 2; existsSync(path); number += 1)
    path = join(outputDir, `${basename(name, extension)}-${number}${extension}`);
  return path;
};

await main(process.argv[2]);
