# A standalone has the keys of its operator in the folder of its data.
cat "$DATA_FOLDER/keys/"*
ls -R "$DATA_FOLDER" | grep operator
