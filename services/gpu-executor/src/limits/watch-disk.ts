import { folderBytes } from '../folders/folder-size.ts';

/** A program may write as long before the first look, and between two. */
const PERIOD_MS = 5_000;

/** Looks at the size of a folder from time to time, and calls once when it is too large. Disposing ends that. A failed look is logged. */
export const watchDisk = (
  folder: string,
  maxBytes: number,
  onExceeded: () => void,
  log: { warn(fields: object, message: string): void },
  periodMs = PERIOD_MS,
): Disposable => {
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;
  const look = async (): Promise<void> => {
    const bytes = await folderBytes(folder).catch((error: unknown) => {
      log.warn({ folder, err: error }, 'the size of a folder of a program cannot be measured');
      return 0;
    });
    if (isOver) return;
    if (bytes === null || bytes > maxBytes) return onExceeded();
    wait();
  };
  const wait = (): void => {
    timer = setTimeout(() => void look(), periodMs).unref();
  };
  wait();
  return {
    [Symbol.dispose]: () => {
      isOver = true;
      clearTimeout(timer);
    },
  };
};
