import type { ReactNode } from 'react';
import './file-drop.css';

interface FileDropProps {
  readonly id: string;
  /** The kinds of files that the browser offers, such as `image/*`; all when it is undefined. */
  readonly accept: string | undefined;
  readonly onFile: (file: File) => void;
  /** Says what became of the file. */
  readonly children: ReactNode;
}

/** Takes a file that is chosen or dropped. */
export const FileDrop = ({ id, accept, onFile, children }: FileDropProps): ReactNode => {
  const take = (files: FileList | null): void => {
    const [file] = files ?? [];
    if (file) onFile(file);
  };
  return (
    <div
      className="drop"
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        take(event.dataTransfer.files);
      }}
    >
      <input id={id} type="file" accept={accept} onChange={({ target }) => take(target.files)} />
      {children}
    </div>
  );
};
