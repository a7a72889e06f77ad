# Uses an installed dpforest as a newcomer would, with CSV files on the command line. Run by `make wheel` in a
# folder that holds the files of hospital_csv.py and nothing else, with no extra installed.
dpforest schema init visits.csv --dictionary dictionary.csv --target outcome --out schema.json
dpforest budget create budget.db --dataset patients --epsilon 3 --schema schema.json
dpforest fit visits.csv --schema schema.json --epsilon 1 --budget budget.db --out model.json
dpforest predict model.json new_visits.csv --keep bed --proba --out predictions.csv
test -s predictions.csv
