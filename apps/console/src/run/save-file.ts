/** Some browsers read the file a moment after they were told to. */
const KEEP_MS = 10_000;

/** Lets the browser download a file that the page has. */
export const saveFile = (content: Blob, name: string): void => {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), KEEP_MS);
};
