import { registerHooks } from 'node:module';

/**
 * Replaces a text of a source file of this repository whenever it is loaded from now on: a process tries a defect that way, and the file
 * itself stays as it is. `file` is a path from the root. The answer throws unless the text was there once.
 */
export const replaceInSource = (file: string, text: string, instead: string): (() => void) => {
  let replaced = 0;
  registerHooks({
    load: (url, context, next) => {
      const loaded = next(url, context);
      if (!url.endsWith(`/${file}`)) return loaded;
      if (typeof loaded.source !== 'string' && !(loaded.source instanceof Uint8Array)) return loaded;
      const parts = Buffer.from(loaded.source).toString().split(text);
      replaced += parts.length - 1;
      return { ...loaded, source: parts.join(instead) };
    },
  });
  return () => {
    if (replaced !== 1) throw new Error(`the text occurs ${replaced} times in ${file}: change the mutation`);
  };
};
