import type { ReactNode } from 'react';
import './file-drop.css';

interface FileDropProps {
  readonly id: string;
  /** The kinds of files that the browser offers, such as `image/*`; all when it is undefined. */
  readonly accept: string | undefined;
  /** It takes several files at once. */
  readonly isMultiple?: boolean;
  /** It takes none for now. */
  readonly isDisabled?: boolean;
  /** At least one; one only, unless it takes several. */
  readonly onFiles: (files: readonly File[]) => void;
  /** Says what became of the file. */
  readonly children: ReactNode;
}

/** Takes a file, or several, that are chosen or dropped. */
export const FileDrop = ({
  id,
  accept,
  isMultiple = false,
  isDisabled = false,
  onFiles,
  children,
}: FileDropProps): ReactNode => {
  const take = (files: FileList | null): void => {
    const chosen = [...(files ?? [])].slice(0, isMultiple ? undefined : 1);
    if (chosen.length > 0 && !isDisabled) onFiles(chosen);
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
      <input
        id={id}
        type="file"
        accept={accept}
        multiple={isMultiple}
        disabled={isDisabled}
        onChange={({ target }) => {
          take(target.files);
          // What takes several lists them itself, and may be given a file again that it had removed.
          if (isMultiple) target.value = '';
        }}
      />
      {children}
    </div>
  );
};
